"""Tensors on a device in the hands of a user: the same results, and nothing is copied in vain."""

import pickle

import numpy as np
import pytest

pytest.importorskip("torch")

import torch
from tensors import DEVICES, on, problem, there

import calibrant as cal
from calibrant import device, distances, lenses, partitions, resampling, statistics
from calibrant.device.rows import DeviceRows

ETA = statistics.ExpectedMiscalibration(partitions.EqualWidth(10))
WORST = statistics.WorstMiscalibration(partitions.EqualWidth(4), distances.euclidean)
TREE = statistics.ExpectedMiscalibration(partitions.VarianceTree(30))
OWN = statistics.ExpectedMiscalibration(
    partitions.EqualWidth(2), lambda p, q: np.abs(p - q).max(axis=-1)
)
GROUPS = lenses.Groups([[0, 1], [2, 3], [4, 5, 6]])

pytestmark = pytest.mark.parametrize("kind", DEVICES)


@pytest.fixture
def stay(kind, monkeypatch):
    on(kind, monkeypatch)


@pytest.fixture
def never_pulled(stay, monkeypatch):  # noqa: ARG001
    """Fail where anything of size n is copied to the host."""

    def refuse(self):  # noqa: ARG001
        raise AssertionError("probabilities and labels were copied to the host")

    monkeypatch.setattr(DeviceRows, "pulled", refuse)


def same_test(kind, statistic, given, **settings):
    here = cal.calibration_test(
        cal.Predictions(*given[:2], weights=given[2]), statistic, rng=2, n_resamples=39, **settings
    )
    away = cal.calibration_test(there(kind, *given), statistic, rng=2, n_resamples=39, **settings)
    assert here.to_dict() == away.to_dict()


@pytest.mark.parametrize(
    "lens", [lenses.Canonical(), lenses.TopLabel(), lenses.Marginal("3")], ids=str
)
@pytest.mark.parametrize("statistic", [ETA, WORST], ids=str)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.usefixtures("never_pulled")
def test_a_test_on_the_device(kind, statistic, lens, weighted):
    same_test(kind, statistic, problem(200, 7, power=4, weighted=weighted), lens=lens)


@pytest.mark.usefixtures("never_pulled")
def test_ece_and_binary_problems_on_the_device(kind):
    probs, labels, _ = problem(200, 7, power=4)
    tensors = [torch.from_numpy(a).to(kind) for a in (probs, labels)]
    assert cal.ece(*tensors) == cal.ece(probs, labels)
    p, y = probs[:, 0].copy(), (labels == 0).astype(np.int64)
    pair = [torch.from_numpy(a).to(kind) for a in (p, y)]
    assert cal.ece(*pair) == cal.ece(p, y)
    same_test(kind, ETA, (p, y, None))


@pytest.mark.usefixtures("never_pulled")
def test_progress_ends(kind):
    seen = []
    data = there(kind, *problem(50, 4))
    cal.calibration_test(data, ETA, n_resamples=19, rng=0, progress=lambda *done: seen.append(done))
    done = [done for done, _ in seen]
    assert done == sorted(done)
    assert seen[-1][0] == seen[-1][1]


OTHERS = [
    (ETA, {"lens": lenses.TopK(2)}),
    (ETA, {"lens": GROUPS}),
    (ETA, {"lens": lenses.Pooled()}),
    (ETA, {"lens": lenses.TopLabel() >> lenses.Marginal(1)}),
    (ETA, {"lens": GROUPS >> lenses.TopLabel()}),
    (ETA, {"resampler": resampling.Consistency()}),
    (ETA, {"resampler": resampling.Exact(rho=lambda probs: probs[:, ::-1])}),
    (ETA, {"resampler": resampling.Exact(draws="counts"), "lens": lenses.TopLabel()}),
    (TREE, {}),
    (TREE, {"lens": lenses.TopLabel()}),
    (OWN, {}),
    (statistics.KernelMiscalibration(0.1), {}),
    (None, {"lens": lenses.TopLabel()}),
    (lambda data: data.probs[:, 0].std() + data.labels.mean(), {}),
]


@pytest.mark.parametrize("case", range(len(OTHERS)))
@pytest.mark.usefixtures("stay")
def test_what_a_device_does_not_know_is_done_by_the_host(kind, case):
    statistic, settings = OTHERS[case]
    given = problem(120, 7, power=4)
    same_test(kind, statistic, given, **settings)


@pytest.mark.usefixtures("stay")
def test_several_statistics_draw_the_same_labels(kind):
    given = problem(120, 7, power=4)[:2]
    chosen = {"statistics": [ETA, statistics.Surprise(), WORST], "n_resamples": 19, "rng": 0}
    data = cal.Predictions(*given)
    assert (
        cal.evaluate(data, **chosen).to_dict()
        == cal.evaluate(there(kind, *given), **chosen).to_dict()
    )


@pytest.mark.usefixtures("stay")
def test_other_verbs_and_copies(kind):
    given = problem(120, 3, power=4)
    data, host = there(kind, *given), cal.Predictions(*given[:2])
    assert (data.n, data.m, len(data), repr(data)) == (120, 3, 120, repr(host))
    assert np.array_equal(pickle.loads(pickle.dumps(data)).probs, host.probs)
    assert cal.brier_score(data) == cal.brier_score(host)
    assert cal.classwise(data, n_resamples=19, rng=0).to_dict() == (
        cal.classwise(host, n_resamples=19, rng=0).to_dict()
    )
    fn, wanted = (cal.calibration_function(d, partitions.EqualWidth(3)) for d in (data, host))
    assert np.array_equal(fn.predicted, wanted.predicted)
    assert lenses.TopLabel()(data).labels.dtype == np.int32
    assert not data.probs.flags.writeable


BAD = [
    ([[0.5, 0.4], [0.5, 0.5]], [0, 1], "must sum to 1 in each row; row 0 sums to 0.9"),
    ([[0.5, 0.5], [1.5, -0.5]], [0, 1], "must not be negative; row 1"),
    ([[0.5, float("nan")]], [0], "must be finite; row 0"),
    ([[float("inf"), 0.0]], [0], "must be finite; row 0"),
    ([[0.5, 0.5]], [2], "`labels` must be"),
    ([[0.5, 0.5]], [-1], "`labels` must be"),
    ([[0.5, 0.5]], [0, 1], "`labels` must be one for each"),
    ([0.5, 1.5], [0, 1], "must be between 0 and 1; row 1"),
    ([[[0.5]]], [0], r"must be of shape \(n, m\)"),
    ([[1.0]], [0], "at least two classes"),
]


@pytest.mark.parametrize(("probs", "labels", "sentence"), BAD, ids=[b[2] for b in BAD])
@pytest.mark.usefixtures("stay")
def test_refusals_have_the_words_of_the_host(kind, probs, labels, sentence):
    with pytest.raises(ValueError, match=sentence) as host:
        cal.Predictions(np.array(probs), np.array(labels))
    with pytest.raises(ValueError, match=sentence) as away:
        cal.Predictions(
            torch.tensor(probs, dtype=torch.float64).to(kind), torch.tensor(labels).to(kind)
        )
    assert str(away.value) == str(host.value)


@pytest.mark.parametrize(
    "dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.int64]
)
@pytest.mark.usefixtures("stay")
def test_rows_are_divided_by_their_sums_as_on_the_host(kind, dtype, monkeypatch):
    probs = torch.from_numpy(problem(60, 40, power=4)[0])
    probs = (probs * 1.0003).to(dtype) if dtype.is_floating_point else torch.eye(40, dtype=dtype)
    labels = torch.zeros(len(probs), dtype=torch.int64)
    away = cal.Predictions(probs.to(kind), labels.to(kind))
    monkeypatch.setattr(device, "KINDS", ())
    host = cal.Predictions(probs, labels)
    assert away.on_device is not None
    assert host.on_device is None
    assert away.probs.tobytes() == host.probs.tobytes()
    assert away.probs.dtype == host.probs.dtype


@pytest.mark.parametrize(
    "dtype", [torch.uint8, torch.int16, torch.int32, torch.int64, torch.float32]
)
@pytest.mark.usefixtures("stay")
def test_labels_of_any_kind(kind, dtype):
    probs = torch.from_numpy(problem(60, 3)[0]).to(kind)
    labels = np.arange(60) % 3
    given = torch.from_numpy(labels).to(dtype)
    one_hot = torch.eye(3)[torch.from_numpy(labels)]
    for form in (given, given.to(kind), labels, one_hot, one_hot.to(kind)):
        assert cal.Predictions(probs, form).labels.tolist() == labels.tolist()
    named = cal.Predictions(probs, given.to(kind), classes=[2, 1, 0])
    assert named.labels.tolist() == (2 - labels).tolist()


def test_tensors_of_the_host_are_read_where_they_are(kind):  # noqa: ARG001
    assert not device.stays(torch.zeros(3))
    assert not device.stays(np.zeros(3))
    assert cal.Predictions(torch.tensor([[0.5, 0.5]]), [0]).on_device is None
