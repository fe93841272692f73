"""Compare `calibrant.conventions` with the software that they are named after.

On every set of a folder of predictions and on small cases at the limits of bins, with ties, zeros,
ones and empty bins. Writes the values of the small cases, and of the predictions that come with
calibrant, to tests/conventions/stored.json, and the largest differences to docs/conventions.md.

Usage: .venv-bench/bin/python -m benchmarks.conventions [FOLDER]
"""

import json
import sys
import types
import warnings
from collections.abc import Callable, Iterator
from itertools import pairwise, product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import calibrant as cal
from calibrant import conventions
from calibrant.statistics import CalibrationError

ROOT = Path(__file__).parents[1]
STORED = ROOT / "tests" / "conventions" / "stored.json"
PAGE = ROOT / "docs" / "conventions.md"
MARK = "<!-- differences -->"
CLOSE = 1e-6
SLOW = 2000  # rows, for software that loops over all of them in Python

Floats = np.ndarray[Any, np.dtype[np.float64]]


class Peer(NamedTuple):
    """A convention, and the software that it is named after."""

    name: str  # of the function in calibrant.conventions
    chosen: dict[str, Any]  # its arguments
    call: Callable[[cal.Predictions], float]
    single: bool = False  # whether it adds up in single precision
    slow: bool = False
    more: bool = False  # whether it is wrong for two classes, so that only more are compared

    @property
    def statistic(self) -> CalibrationError:
        made: CalibrationError = getattr(conventions, self.name)(**self.chosen)
        return made


def binary(data: cal.Predictions) -> tuple[Any, Any]:
    """Return probabilities and outcomes of the event, or of the predicted class of more."""
    if data.m == 2:
        return data.probs[:, 1], (data.labels == 1).astype(int)
    return top(data)


def top(data: cal.Predictions) -> tuple[Any, Any]:
    """Return the confidence in the predicted class, and whether it is right."""
    return data.probs.max(axis=1), (data.probs.argmax(axis=1) == data.labels).astype(int)


def of_torchmetrics(data: cal.Predictions, **how: Any) -> float:
    import torch
    from torchmetrics.functional.classification import (
        binary_calibration_error,
        multiclass_calibration_error,
    )

    probs, labels = torch.tensor(data.probs), torch.tensor(data.labels.astype(int))
    if data.m == 2:
        return float(binary_calibration_error(probs[:, 1].contiguous(), labels, **how))
    return float(multiclass_calibration_error(probs, labels, data.m, **how))


def of_probmetrics(data: cal.Predictions, **how: Any) -> float:
    import torch

    # One of its metrics wants numba, this one does not.
    sys.modules.setdefault("numba", types.SimpleNamespace(njit=lambda *_, **__: lambda f: f))  # type: ignore[arg-type]
    from probmetrics.distributions import CategoricalDirac, CategoricalProbs
    from probmetrics.metrics import CalibrationError as Theirs

    probs = CategoricalProbs(torch.tensor(data.probs))
    truth = CategoricalDirac(torch.tensor(data.labels.astype(int)), data.m)
    return float(Theirs(**how)._compute_mean(y_true=truth, y_pred=probs))


def of_netcal(data: cal.Predictions, measure: str, **how: Any) -> float:
    from netcal import metrics

    given = np.array(data.probs[:, 1] if data.m == 2 else data.probs, float)
    return float(getattr(metrics, measure)(**how).measure(given, np.array(data.labels)))


def of_guo(data: cal.Predictions, n_bins: int) -> float:
    """Return what the published code says, written anew: it takes logits, and these are none."""
    import torch

    confidence, right = (torch.tensor(np.asarray(x, np.float32)) for x in top(data))
    edges = torch.linspace(0, 1, n_bins + 1)
    found = 0.0
    for low, high in pairwise(edges):
        inside = (confidence > low) & (confidence <= high)
        if inside.any():
            gap = confidence[inside].mean() - right[inside].mean()
            found += float(gap.abs() * inside.float().mean())
    return found


def of_scikit_learn(
    data: cal.Predictions, n_bins: int = 5, strategy: str = "uniform", weighted: bool = True
) -> float:
    from sklearn.calibration import calibration_curve

    p, y = binary(data)
    observed, predicted = calibration_curve(y, p, n_bins=n_bins, strategy=strategy, pos_label=1)
    gaps = np.abs(observed - predicted)
    if not weighted:
        return float(gaps.mean())
    inner = np.linspace(0, 1, n_bins + 1)
    edges = np.percentile(p, inner * 100) if strategy == "quantile" else inner
    counts = np.bincount(np.searchsorted(edges[1:-1], p), minlength=n_bins)
    return float(counts[counts > 0] @ gaps / p.size)


def of_mapie(data: cal.Predictions, **how: Any) -> float:
    from mapie.metrics.calibration import expected_calibration_error

    p, y = binary(data)
    return float(expected_calibration_error(y, np.array(p), **how))


def of_pycalib(data: cal.Predictions, measure: str, bins: int) -> float:
    from pycalib import metrics

    if measure.startswith("binary"):
        p, y = binary(data)
        return float(getattr(metrics, measure)(y, p, bins=bins))
    one_hot = np.eye(data.m)[data.labels]
    given = data.labels.reshape(-1) if measure.startswith("conf") else one_hot
    return float(getattr(metrics, measure)(given, data.probs, bins=bins))


def of_uncertainty(data: cal.Predictions, measure: str, num_bins: int = 15) -> float:
    import calibration

    given = data.probs[:, 1] if data.m == 2 else data.probs
    labels = data.labels.astype(int)
    if measure in ("ece", "ece_em"):
        return float(getattr(calibration, f"get_{measure}")(given, labels, num_bins=num_bins))
    debias = measure == "l2_debiased"
    find = calibration.utils.lower_bound_scaling_top_ce
    return float(find(given, labels, p=2, debias=debias, num_bins=num_bins))


def of_helm(data: cal.Predictions, num_bins: int) -> float:
    import calibration

    p, y = top(data)
    return float(calibration.get_ece_em(p, y, num_bins=num_bins))


def of_relplot(data: cal.Predictions) -> float:
    import relplot

    p, y = binary(data)
    return float(relplot.smECE(f=np.asarray(p, float), y=y))


def of_lowess(data: cal.Predictions, summary: Callable[[Floats], Any]) -> float:
    """Return what R's lowess gives, row by row and written anew: val.prob itself needs R."""
    p, y = (np.asarray(x, float) for x in binary(data))
    order = np.argsort(p, kind="stable")
    return float(summary(np.abs(p[order] - lowess(p[order], y[order]))))


def lowess(x: Floats, y: Floats) -> Floats:
    """Smooth sorted rows as R's ``lowess(x, y, f = 2/3, iter = 0)`` does, a row at a time."""
    n, reach = x.size, x[-1] - x[0]
    near = max(2, min(n, int(2 / 3 * n + 1e-7)))
    fitted, left, last, i = np.zeros(n), 0, -1, 0
    while last < n - 1:
        while left + near < n and x[i] - x[left] > x[left + near] - x[i]:
            left += 1
        fitted[i] = local(
            x[left:], y[left:], x[i], max(x[i] - x[left], x[left + near - 1] - x[i]), reach
        )
        for j in range(last + 1, i):  # rows that were passed over
            share = (x[j] - x[last]) / (x[i] - x[last])
            fitted[j] = share * fitted[i] + (1 - share) * fitted[last]
        last, cut = i, x[i] + 0.01 * reach
        i += 1
        while i < n and x[i] <= cut:
            if x[i] == x[last]:
                fitted[i], last = fitted[last], i
            i += 1
        i = max(last + 1, i - 1)
    return fitted


def local(x: Floats, y: Floats, at: float, width: float, reach: float) -> float:
    """Return the local line at one place."""
    far = np.abs(x - at)
    weights = np.where(far <= 0.001 * width, 1.0, (1 - (far / max(width, 1e-300)) ** 3) ** 3)
    weights[far > 0.999 * width] = 0.0
    weights /= weights.sum()
    mean = weights @ x
    square = weights @ (x - mean) ** 2
    if width > 0 and np.sqrt(square) > 0.001 * reach:
        weights *= 1 + (at - mean) / square * (x - mean)
    return float(weights @ y)


def of_regression(data: cal.Predictions, which: str) -> float:
    import statsmodels.api as sm

    p, y = (np.asarray(x, float) for x in binary(data))
    inner = (p > 0) & (p < 1)
    x, y = np.log(p[inner] / (1 - p[inner])), y[inner]
    if which == "in the large":
        model = sm.GLM(y, np.ones((x.size, 1)), family=sm.families.Binomial(), offset=x)
        return float(abs(model.fit(tol=1e-14).params[0]))
    model = sm.GLM(y, sm.add_constant(x, has_constant="add"), family=sm.families.Binomial())
    intercept, slope = model.fit(tol=1e-14).params
    return float(abs(intercept) if which == "intercept" else abs(slope - 1))


def of_hosmer_lemeshow(data: cal.Predictions, g: int) -> float:
    """Return what hoslem.test says, written anew with pandas: the test itself needs R."""
    import pandas as pd

    p, y = (np.asarray(x, float) for x in binary(data))
    edges = np.unique(np.quantile(p, np.linspace(0, 1, g + 1)))
    groups = pd.cut(p, edges, include_lowest=True, labels=False)
    frame = pd.DataFrame({"p": p, "y": y, "q": 1 - p, "n": 1 - y}).groupby(groups).sum()
    off = (frame.y - frame.p) ** 2 / frame.p + (frame.n - frame.q) ** 2 / frame.q
    return float(off.sum())


def peers() -> Iterator[Peer]:  # noqa: C901 (a list)
    """Yield every convention, with a few settings of each."""
    for n_bins, norm in product((10, 15), ("l1", "l2", "max")):
        how = {"n_bins": n_bins, "norm": norm}
        yield Peer("torchmetrics", how, lambda d, h=how: of_torchmetrics(d, **h), single=True)
    for norm in ("l1", "l2", "max"):
        how = {"n_bins": 15, "norm": norm}
        yield Peer("probmetrics", how, lambda d, h=how: of_probmetrics(d, **h), single=True)
    for measure, equal in product(("ECE", "MCE", "ACE"), (True, False)):
        how = {"bins": 10, "measure": measure, "equal_intervals": equal}
        yield Peer("netcal", how, lambda d, h=how: of_netcal(d, **h))
    for n_bins in (10, 15):
        yield Peer("guo", {"n_bins": n_bins}, lambda d, k=n_bins: of_guo(d, k), single=True)
    for strategy, weighted in product(("uniform", "quantile"), (True, False)):
        how = {"n_bins": 5, "strategy": strategy, "weighted": weighted}
        yield Peer("scikit_learn", how, lambda d, h=how: of_scikit_learn(d, **h))
    for num_bins, strategy in product((10, 50), ("uniform", "quantile", "array split")):
        how = {"num_bins": num_bins, "split_strategy": strategy}
        yield Peer("mapie", how, lambda d, h=how: of_mapie(d, **h))
    slow = {"conf_ECE", "conf_MCE", "ECE"}
    for measure in ("conf_ECE", "conf_MCE", "binary_ECE", "binary_MCE", "classwise_ECE", "ECE"):
        for bins in (10, 15):
            how = {"measure": measure, "bins": bins}
            pooled = {"slow": measure in slow, "more": measure == "ECE"}
            yield Peer("pycalib", how, lambda d, h=how: of_pycalib(d, **h), **pooled)
    for measure in ("ece", "ece_em", "l2", "l2_debiased"):
        how = {"measure": measure, "num_bins": 15}
        yield Peer("uncertainty_calibration", how, lambda d, h=how: of_uncertainty(d, **h))
    for measure, count in (("ece_10_bin", 10), ("ece_1_bin", 1)):
        yield Peer("helm", {"measure": measure}, lambda d, k=count: of_helm(d, k))
    yield Peer("relplot", {}, of_relplot)
    summaries: dict[str, Callable[[Floats], Any]] = {
        "Eavg": np.mean,
        "E50": np.median,
        "E90": lambda off: np.quantile(off, 0.9),
        "Emax": np.max,
    }
    for measure, summary in summaries.items():
        yield Peer("val_prob", {"measure": measure}, lambda d, s=summary: of_lowess(d, s))
    for measure, which in (("Intercept", "intercept"), ("Slope", "slope")):
        yield Peer("val_prob", {"measure": measure}, lambda d, w=which: of_regression(d, w))
    yield Peer("val_prob_ci", {}, lambda d: of_regression(d, "in the large"))
    yield Peer("hosmer_lemeshow", {"g": 10}, lambda d: of_hosmer_lemeshow(d, 10))


def edges() -> Iterator[tuple[str, cal.Predictions]]:
    """Yield small cases, each in double and in single precision."""
    rng = np.random.default_rng(0)
    tenths, thirds = np.arange(11) / 10, np.arange(16) / 15
    two: dict[str, Floats] = {
        "tenths": np.repeat(tenths, 4),
        "fifteenths": np.repeat(thirds, 3),
        "zeros and ones": np.array([0.0] * 6 + [1.0] * 7 + [0.5] * 4 + [0.25] * 3),
        "empty bins": np.array([0.03] * 5 + [0.97] * 6 + [0.96] * 4),
        "ties": np.repeat([0.2, 0.7, 0.71], [20, 5, 15]),
        "few rows": np.array([0.1, 0.35, 0.8]),
        "next to limits": np.nextafter(np.repeat(tenths[1:-1], 2), np.tile([0.0, 1.0], 9)),
        "spread": rng.random(60),
    }
    for name, p in two.items():
        y = (np.arange(p.size) * 0.618 % 1 < 0.2 + 0.6 * p).astype(int)
        for kind in (np.float64, np.float32):
            yield f"{name}, {kind.__name__}", cal.Predictions(p.astype(kind), y)
    rows = [[0.4, 0.4, 0.2], [1, 0, 0], [0.6, 0.2, 0.2], [0.8, 0.1, 0.1], [0.2, 0.2, 0.6]]
    rows += [[1 / 3] * 3, [0.5, 0.5, 0], [0, 1, 0], [0.1, 0.1, 0.8], [0.25, 0.35, 0.4]]
    labels = np.arange(40) % 3
    for kind in (np.float64, np.float32):
        yield f"three classes, {kind.__name__}", cal.Predictions(np.array(rows * 4, kind), labels)


def rounding(data: cal.Predictions, peer: Peer) -> float:
    """Measure how far sums in single precision are off: at most so in the mean of a bin."""
    if not peer.single and data.probs.dtype == np.float64:
        return 0.0
    p, _ = top(data) if peer.name == "guo" else binary(data)
    places = np.minimum((np.asarray(p, float) * peer.chosen.get("n_bins", 15)).astype(int), 99)
    off = 2.0**-24
    for place in np.unique(places):
        some = np.asarray(p[places == place], np.float32)
        exact = float(some.astype(float).sum())
        off = max(off, abs(float(np.cumsum(some, dtype=np.float32)[-1]) - exact) / some.size)
    return 4 * off


class Found(NamedTuple):
    """A comparison."""

    peer: Peer
    case: str
    theirs: float | None  # None if the software raised an error
    ours: float
    allowed: float
    rows: int  # that were compared

    @property
    def off(self) -> float:
        if self.theirs is None or not (np.isfinite(self.theirs) and np.isfinite(self.ours)):
            return 0.0
        return abs(self.theirs - self.ours) / max(1.0, abs(self.ours))


def compared(peer: Peer, case: str, data: cal.Predictions) -> Found:
    """Compare a convention with its peer on a data set."""
    if peer.slow and data.n > SLOW:
        data = data.take(np.arange(SLOW))
    allowed = CLOSE + rounding(data, peer)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            theirs: float | None = peer.call(data)
        except Exception as error:  # whatever they raise
            print(f"  {peer.name} {peer.chosen} raised on {case}: {error!s:.80}")
            theirs = None
    return Found(peer, case, theirs, peer.statistic(data), allowed, data.n)


def sets(folder: Path) -> Iterator[tuple[str, cal.Predictions]]:
    """Yield the sets of a folder in double precision."""
    for path in sorted(folder.glob("*.npz")):
        with np.load(path) as file:
            probs, labels = file["probs"].astype(float), file["labels"]
        probs /= probs.sum(axis=1, keepdims=True)
        yield path.stem, cal.Predictions(probs, labels)


def bundled() -> Iterator[tuple[str, cal.Predictions]]:
    """Yield the predictions that come with calibrant, in single precision."""
    for name in ("lenet", "resnet", "densenet"):
        yield name, cal.datasets.cifar10(name)


def store(found: list[Found], cases: dict[str, cal.Predictions]) -> None:
    """Write the values that tests compare with, where the software gave one."""
    small = {
        name: {
            "dtype": str(data.probs.dtype),
            "probs": data.probs.astype(float).tolist(),
            "labels": data.labels.tolist(),
        }
        for name, data in cases.items()
        if data.n < 1000
    }
    values = [
        {
            "convention": one.peer.name,
            "arguments": one.peer.chosen,
            "case": one.case,
            "rows": one.rows,
            "value": one.theirs,
            "allowed": one.allowed,
        }
        for one in found
        if one.case in cases and one.theirs is not None and np.isfinite(one.theirs)
    ]
    STORED.write_text(json.dumps({"cases": small, "values": values}, indent=0) + "\n", "utf-8")


def table(found: list[Found]) -> str:
    """Return the largest difference of every function, on sets and on small cases, as Markdown."""
    lines = [
        "| convention | comparisons | largest difference | software raised |",
        "|---|--:|--:|--:|",
    ]
    for name in dict.fromkeys(one.peer.name for one in found):
        mine = [one for one in found if one.peer.name == name]
        raised = sum(one.theirs is None for one in mine)
        lines.append(
            f"| `{name}` | {len(mine) - raised:,} | {max(one.off for one in mine):.1g} | {raised} |"
        )
    return "\n".join(lines)


def main() -> None:
    """Compare everything, and write what was found."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT.parent / "shared/data/predictions"
    cases = dict([*edges(), *bundled()])
    found = []
    for case, data in [*cases.items(), *sets(folder)]:
        print(case, flush=True)
        found += [compared(peer, case, data) for peer in peers() if data.m > 2 or not peer.more]
    for one in found:
        if one.off > one.allowed:
            print(
                f"OFF {one.off:.2g}: {one.peer.name} {one.peer.chosen} on {one.case}: "
                f"{one.theirs} for {one.ours}"
            )
    store(found, cases)
    head, _, rest = PAGE.read_text("utf-8").partition(MARK)
    tail = rest.partition(MARK)[2]
    PAGE.write_text(f"{head}{MARK}\n{table(found)}\n{MARK}{tail}", "utf-8")
    print(table(found))
    assert all(one.off <= one.allowed for one in found)


if __name__ == "__main__":
    main()
