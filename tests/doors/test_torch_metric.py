"""The metric of torchmetrics: bits of one call, a state that does not grow, processes with gloo."""

import pickle

import numpy as np
import pytest
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torchmetrics import MetricCollection

import calibrant as cal
from calibrant.resampling import Exact
from calibrant.torch import CalibrationError

CLASSES, BATCHES, PROCESSES, N = 10, 1000, 4, 20_000


def rows(n=N, m=CLASSES):
    rng = np.random.default_rng(1)
    probs = rng.dirichlet(np.full(m, 0.5), n).astype(np.float32)
    sharp = probs**0.8
    sharp /= sharp.sum(axis=1, keepdims=True)
    labels = (sharp.cumsum(axis=1) < rng.random(n)[:, None]).sum(axis=1).clip(0, m - 1)
    return torch.from_numpy(probs), torch.from_numpy(labels)


def size(metric):
    return sum(value.numel() * value.element_size() for value in metric.metric_state.values())


def on_process(rank, address, contiguous, results):
    dist.init_process_group(
        "gloo", init_method=f"file://{address}", rank=rank, world_size=PROCESSES
    )
    torch.set_num_threads(1)
    probs, labels = rows()
    metric = CalibrationError(CLASSES)
    parts = np.array_split(np.arange(N), BATCHES)
    mine = np.array_split(np.arange(BATCHES), PROCESSES)[rank] if contiguous else None
    for i in range(rank, BATCHES, PROCESSES) if mine is None else mine:
        metric.update(probs[parts[i]], labels[parts[i]])
    before = size(metric)
    found = metric.compute()
    results[rank] = ({name: float(value) for name, value in found.items()}, before)
    dist.destroy_process_group()


@pytest.mark.parametrize("contiguous", [False, True])
def test_a_thousand_batches_on_four_processes_are_one_call(tmp_path, contiguous):
    probs, labels = rows()
    whole = CalibrationError(CLASSES)
    whole.update(probs, labels)
    expected = {name: float(value) for name, value in whole.compute().items()}
    with mp.Manager() as manager:
        results = manager.dict()
        address = tmp_path / "store"
        mp.start_processes(
            on_process,
            (str(address), contiguous, results),
            nprocs=PROCESSES,
            start_method="spawn",
        )
        found = dict(results)
    assert len(found) == PROCESSES
    for values, bytes_held in found.values():
        assert values == expected
        assert bytes_held == size(whole)


def test_it_is_the_exact_test_of_all_rows():
    probs, labels = rows()
    metric = CalibrationError(CLASSES)
    for some in np.array_split(np.arange(N), 77):
        metric.update(probs[some], labels[some])
    eta = cal.statistics.ExpectedMiscalibration(cal.partitions.EqualWidth(15))
    how = {"lens": "top", "resampler": Exact(draws="counts"), "rng": 0}
    test = cal.calibration_test(probs.numpy(), labels.numpy(), eta, **how)
    assert metric.test().to_dict() == test.to_dict()
    found = metric.compute()
    assert float(found["estimate"]) == cal.ece(probs, labels) == test.statistic
    assert float(found["expected"]) == test.null.mean()
    assert float(found["pvalue"]) == test.pvalue


def test_the_state_does_not_grow():
    probs, labels = rows()
    metric = CalibrationError(CLASSES)
    sizes = set()
    for some in np.array_split(np.arange(N), 100):
        metric.update(probs[some], labels[some])
        sizes |= {size(metric), len(pickle.dumps(metric.metric_state))}
    assert len(sizes) == 2
    assert size(metric) < 200_000  # bytes; N rows take 880,000
    assert not [value for value in metric.metric_state.values() if isinstance(value, list)]


@pytest.mark.parametrize("kind", ["ece", "mce", "rms"])
def test_kinds_two_classes_and_logits(kind):
    probs, labels = rows(500, 2)
    metric = CalibrationError(2, 10, kind=kind, n_resamples=99)
    metric.update(probs, labels)
    assert float(metric.compute()["estimate"]) == getattr(cal, kind)(probs, labels, bins=10)
    column = CalibrationError(2, 10, kind=kind, n_resamples=99)
    column.update(probs[:, 1], labels)
    assert float(column.compute()["estimate"]) == getattr(cal, kind)(probs[:, 1], labels, bins=10)
    logits = CalibrationError(2, 10, kind=kind, logits=True, n_resamples=99)
    logits.update(probs.log(), labels)
    assert float(logits.compute()["estimate"]) == pytest.approx(
        float(metric.compute()["estimate"]), rel=1e-3
    )


def test_as_torchmetrics_wants_it():
    probs, labels = rows(600)
    metrics = MetricCollection([CalibrationError(CLASSES, n_resamples=99)])
    first = metrics(probs[:300], labels[:300])  # forward: of this batch
    assert set(first) == {"estimate", "expected", "pvalue"}
    metrics(probs[300:], labels[300:])
    whole = CalibrationError(CLASSES, n_resamples=99)
    whole.update(probs, labels)
    assert metrics.compute() == whole.compute()
    again = pickle.loads(pickle.dumps(whole))
    assert again.compute() == whole.compute()
    copied = CalibrationError(CLASSES, n_resamples=99)
    whole.persistent(True)
    copied.load_state_dict(whole.state_dict())
    assert copied.test().to_dict() == whole.test().to_dict()
    assert whole.clone().half().compute() == whole.compute()
    whole.reset()
    whole.update(probs[:0], labels[:0])  # nothing
    with pytest.raises(ValueError, match="`update` must have been called before"):
        whole.test()


def test_narrow_types_and_grad():
    probs, labels = rows(200)
    metric = CalibrationError(CLASSES, n_resamples=19)
    metric.update(probs.to(torch.float64).softmax(dim=1).requires_grad_(), labels)
    metric.update(torch.nn.functional.one_hot(labels, CLASSES).to(torch.bfloat16), labels)
    assert int(metric.rows[:, 0].sum()) == 400


def test_refusals():
    probs, labels = rows(5)
    with pytest.raises(ValueError, match="`preds` must have 3 classes, as `num_classes` says"):
        CalibrationError(3).update(probs, labels)
    with pytest.raises(ValueError, match="`kind` must be"):
        CalibrationError(3, kind="ace")
    with pytest.raises(ValueError, match="`num_classes` must be"):
        CalibrationError(1)
    with pytest.raises(ValueError, match="Are these logits"):
        CalibrationError(CLASSES).update(5 * probs.log(), labels)
    with pytest.raises(ValueError, match="counts are drawn only for two outcomes"):
        CalibrationError(CLASSES, lens="canonical").update(probs, labels)
