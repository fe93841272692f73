"""Other libraries that give a p-value or an interval for a calibration error."""

from collections.abc import Callable

import numpy as np

import calibrant as cal
from benchmarks import timing
from calibrant import lenses, partitions, resampling, statistics

BINS = 15
B = 100
QUICK = 15  # rounds of what takes little time
ETA = statistics.ExpectedMiscalibration(partitions.EqualWidth(BINS))
TOP = lenses.TopLabel()

TEST = "calibrant, exact test"
PYCALIB = "pycalib, pECE of conf_ECE"
INTERVAL = "calibrant, bootstrap interval"
UNCERTAINTY = "uncertainty-calibration, bootstrap interval"
CALZONE = "calzone, bootstrap of ECE-H"
RELPLOT = "relplot, bootstrap interval of smECE"
KUIPER = "mapie, p-value of Kuiper"
SMIRNOV = "mapie, p-value of Kolmogorov and Smirnov"
SPIEGELHALTER = "mapie, p-value of Spiegelhalter"
SLOW = (PYCALIB, UNCERTAINTY, CALZONE, RELPLOT)


def candidates(data: cal.Predictions) -> dict[str, Callable[[], object]]:
    import calibration
    import pycalib.metrics
    import scipy.stats
    from calzone.metrics import CalibrationMetrics
    from mapie.metrics import calibration as mapie
    from relplot.metrics import smECE_fast

    probs, labels = data.probs.astype(np.float64), data.labels.astype(np.int64)
    top = TOP(data)
    confidence, correct = top.probs[:, 0].astype(np.float64), (top.labels == 0).astype(np.int64)
    metrics = CalibrationMetrics(num_bins=BINS)

    return {
        TEST: lambda: cal.calibration_test(data, ETA, lens=TOP, n_resamples=B, rng=0),
        PYCALIB: lambda: pycalib.metrics.pECE(
            labels, probs, samples=B, ece_function=pycalib.metrics.conf_ECE
        ),
        INTERVAL: lambda: cal.estimate(data, ETA, lens=TOP, n_resamples=B, rng=0).interval(0.9),
        UNCERTAINTY: lambda: calibration.get_calibration_error_uncertainties(
            probs, labels, p=1, alpha=10.0, mode="top-label"
        ),
        CALZONE: lambda: metrics.bootstrap(labels, probs, ["ECE-H"], n_samples=B),
        RELPLOT: lambda: scipy.stats.bootstrap(
            (confidence, correct), smECE_fast, paired=True, n_resamples=B, method="basic"
        ),
        KUIPER: lambda: mapie.kuiper_p_value(correct, confidence),
        SMIRNOV: lambda: mapie.kolmogorov_smirnov_p_value(correct, confidence),
        SPIEGELHALTER: lambda: mapie.spiegelhalter_p_value(correct, confidence),
    }


def check(data: cal.Predictions, tasks: dict[str, Callable[[], object]]) -> None:
    """Compare what should agree: the estimate, the p-value and the spread of the bootstrap."""
    import pycalib.metrics
    from calzone.metrics import CalibrationMetrics

    value = ETA(TOP(data))
    probs, labels = data.probs.astype(np.float64), data.labels.astype(np.int64)
    assert abs(pycalib.metrics.conf_ECE(labels, probs, bins=BINS) - value) < 1e-6
    # A LeNet is miscalibrated (p = 0.004). pycalib takes no seed: more than 5 of 100 by chance
    # happens less than once in ten thousand runs.
    assert tasks[PYCALIB]() <= 5 / B
    assert tasks[TEST]().pvalue <= 5 / B
    np.random.seed(0)  # noqa: NPY002 (what calzone draws from)
    theirs = CalibrationMetrics(num_bins=BINS).bootstrap(labels, probs, ["ECE-H"], n_samples=B)
    found = np.asarray(theirs["ECE-H topclass"])
    ours = cal.estimate(data, ETA, lens=TOP, resampler=resampling.Bootstrap(), n_resamples=B, rng=0)
    bound = 6 * np.sqrt((found.var() + ours.replicates.var()) / B)
    assert abs(found.mean() - ours.replicates.mean()) < bound


def report() -> str:
    """Return the section as Markdown."""
    data = cal.datasets.cifar10("lenet")
    tasks = candidates(data)
    check(data, tasks)
    seconds = timing.interleaved(tasks, 1)
    quick = {name: task for name, task in tasks.items() if name not in SLOW}
    best = timing.best({**seconds, **timing.interleaved(quick, QUICK)})
    groups = {
        f"A p-value by redrawing labels, B = {B}": (TEST, [PYCALIB]),
        f"An interval by redrawing rows, B = {B}": (INTERVAL, [UNCERTAINTY, CALZONE, RELPLOT]),
        "A p-value from an asymptotic law, nothing redrawn": (
            TEST,
            [KUIPER, SMIRNOV, SPIEGELHALTER],
        ),
    }
    text = (
        "The predicted class of a LeNet on CIFAR-10 (10,000 rows, 10 classes), 15 bins where"
        " there are bins. pycalib redraws labels as the exact test does; its estimate agrees to"
        " 1e-6. calzone bootstraps the same estimate; the means agree to within chance."
        " uncertainty-calibration bootstraps an estimate on bins of equal mass and relplot the"
        " smooth calibration error, so only the number of data sets is the same. The p-values of"
        " mapie belong to other statistics, for binary outcomes and large samples. pycalib starts"
        " as many processes as there are cores. What takes little time (calibrant and mapie): the"
        f" fastest of {QUICK} runs; the others run once after a first run."
        "\n\nNot measured: calibration-belt installs a module of the same name as"
        " uncertainty-calibration, so that only one of the two can be used; mcgrad, with a p-value"
        " for the same cumulative differences as mapie, brings an optimiser and gradient boosting"
        " with it; pycaleva has tests of Hosmer and Lemeshow and of Spiegelhalter for binary"
        " outcomes, again from asymptotic laws."
    )
    parts = ["## P-values and intervals of other libraries", text]
    for title, (ours, peers) in groups.items():
        rows = [
            [name, timing.milliseconds(best[name]), f"{best[name] / best[ours]:,.1f}"]
            for name in (ours, *peers)
        ]
        parts += [f"### {title}", timing.table(["", "time", "× calibrant"], rows)]
    faster = all(best[name] > best[TEST if name == PYCALIB else INTERVAL] for name in SLOW)
    parts.append(timing.verdict("faster than every library that resamples", faster))
    return "\n\n".join(parts)
