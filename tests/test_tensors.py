"""Tensors of torch, in a file of their own: without torch only these tests are skipped."""

import numpy as np
import pytest

from calibrant import Predictions

torch = pytest.importorskip("torch")

PROBS = [[0.5, 0.25, 0.25], [0.125, 0.75, 0.125], [0.0, 0.0, 1.0]]  # exact in any precision
LABELS = [0, 1, 1]


@pytest.mark.parametrize(
    ("probs", "dtype"),
    [
        (torch.tensor(PROBS), np.float32),
        (torch.tensor(PROBS, dtype=torch.float64, requires_grad=True), np.float64),
        (torch.tensor(PROBS).half(), np.float32),
        (torch.tensor(PROBS).bfloat16(), np.float32),
        (torch.tensor(PROBS).T.contiguous().T, np.float32),
        ([torch.tensor(p) for p in PROBS], np.float32),
    ],
)
@pytest.mark.parametrize("labels", [torch.tensor(LABELS), torch.eye(3)[LABELS]])
def test_tensors(probs, dtype, labels):
    data = Predictions(probs, labels, weights=torch.tensor([2, 0, 1]))
    assert data.probs.tolist() == PROBS
    assert data.probs.dtype == dtype
    assert data.probs.flags.c_contiguous
    assert data.labels.tolist() == LABELS
    assert data.weights.tolist() == [2.0, 0.0, 1.0]


def test_one_dimension_is_class_one():
    data = Predictions(torch.tensor([0.25, 1.0]), torch.tensor([0, 1]))
    assert data.probs.tolist() == [[0.75, 0.25], [0.0, 1.0]]


def test_logits():
    data = Predictions.from_logits(torch.zeros((2, 4), requires_grad=True), [0, 3])
    assert data.probs.tolist() == [[0.25] * 4] * 2


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_tensor_is_read_where_it_is(dtype):
    tensor = torch.tensor(PROBS, dtype=dtype)
    shared = torch.from_numpy(np.array(PROBS))
    for given in (tensor, shared):
        data = Predictions(given, LABELS)
        assert np.shares_memory(data.probs, given.numpy())
        with pytest.raises(ValueError, match="read-only"):
            data.probs[0] = 0
        given[0, 0] = 0.25  # the tensor is still its owner's to write to
    assert tensor.tolist()[0][0] == 0.25


def test_a_tensor_of_another_type_is_copied():
    for given in (torch.tensor(PROBS).half(), torch.tensor(PROBS).bfloat16()):
        data = Predictions(given, LABELS)
        given[:] = 9
        assert data.probs.tolist() == PROBS


@pytest.mark.parametrize("m", [2, 10, 1000])
def test_bfloat16_softmax_is_accepted(m):
    logits = torch.tensor(np.random.default_rng(m).normal(0, 3, (200, m)))
    probs = torch.softmax(logits, 1).bfloat16()
    data = Predictions(probs, np.zeros(200, int))
    # Dividing by the sum moves an entry by at most the tolerance for the sum.
    np.testing.assert_allclose(data.probs, probs.float().numpy(), rtol=2.0**-8)


def test_bfloat16_logits_are_refused():
    with pytest.raises(ValueError, match=r"`probs` must sum to 1 in each row; row 0 sums to 1\.5"):
        Predictions(torch.tensor([[1.0, 0.5]]).bfloat16(), [0])


def test_a_tensor_that_cannot_be_read_says_how():
    with pytest.raises(TypeError, match=r"`probs` must be an array.*use probs\.cpu\(\)"):
        Predictions(torch.empty((3, 2), device="meta"), [0, 1, 0])
