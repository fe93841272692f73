"""How often the intervals of `cal.clinical` and `cal.verification` hold, with known truth.

    python examples/clinical.py --sets 1000 --sizes 50 200 1000 5000 --rates 0.3 0.1 0.02

Log-odds of the risk are normal. Three models predict them: one is right, one is too low and too
extreme (log-odds x become 1.5 (x - 0.5)), and one is off in a way that no intercept and slope can
describe (risks π become 0.9 π^1.5). The truth of each number is that of the population; the
curve is looked at in the middle of the predictions and at their 2 % quantile, its end. A wrong
twin, the interval value ± 1.96 standard errors that textbooks begin with, stands beside O/E.
`--picture FILE` draws the two pictures of docs/clinical.md instead. `--peers FOLDER` compares
values with those of scikit-learn and statsmodels, if they are installed, on NPZ files of `probs`
and `labels`.
"""

import argparse
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from itertools import product
from pathlib import Path
from typing import NamedTuple

import matplotlib.pyplot as plt
import numpy as np

import calibrant as cal
from calibrant.risks.curve import flexible_curve
from calibrant.risks.discrimination import area
from calibrant.risks.logistic import in_the_large, observed_expected, slope_and_intercept
from calibrant.risks.parts import brier, scaled_brier
from calibrant.risks.sample import Risks
from calibrant.risks.utility import net_benefit
from calibrant.statistics.score_tests import fit_intercept, fit_line, logit

SPREAD = 1.2  # of the log-odds
CENTRES = {0.5: 0.0, 0.3: -1.08, 0.1: -2.72, 0.02: -4.57}  # that give these rates of events
MODELS = ("calibrated", "too extreme", "curved")
POPULATION = 500_000
NAMES = (
    *("observed_expected", "in_the_large", "slope", "intercept", "auc", "brier", "scaled_brier"),
    *("net benefit", "curve", "its end", "Wald O/E"),
)


class Setting(NamedTuple):
    """One simulation."""

    model: str
    rate: float
    n: int
    sets: int
    seed: int


def drawn(setting, n, rng):
    """Return predictions and true risks (n,)."""
    x = rng.normal(CENTRES[setting.rate], SPREAD, n)
    risk = 1 / (1 + np.exp(-x))
    if setting.model == "calibrated":
        return risk, risk
    if setting.model == "too extreme":
        return 1 / (1 + np.exp(-1.5 * (x - 0.5))), risk
    return 0.9 * risk**1.5, risk


@cache
def truth(model, rate):
    """Return the numbers of the population, and the threshold and place that are looked at."""
    p, risk = drawn(Setting(model, rate, 0, 0, 0), POPULATION, np.random.default_rng(0))
    order = np.argsort(p)
    p, risk = p[order], risk[order]
    groups = np.arange(0, POPULATION, 250)
    events = np.add.reduceat(risk, groups)
    counts = events, 250 - events
    x = np.add.reduceat(logit(p), groups) / 250
    intercept, slope, _ = fit_line(x, counts)
    with_event, without = risk / risk.sum(), (1 - risk) / (1 - risk).sum()
    brier = float((risk * (1 - p) ** 2 + (1 - risk) * p**2).mean())
    rate, t = float(risk.mean()), float(np.quantile(p, 0.7).round(3))
    treated = p >= t
    benefit = float((risk * treated - (1 - risk) * treated * t / (1 - t)).mean())
    middle, end = POPULATION // 2, POPULATION // 50
    return {
        "observed_expected": rate / float(p.mean()),
        "in_the_large": fit_intercept(x, counts),
        "slope": slope,
        "intercept": intercept,
        "auc": float(with_event @ (np.cumsum(without) - without / 2)),
        "brier": brier,
        "scaled_brier": 1 - brier / (rate * (1 - rate)),
        "net benefit": benefit,
        "curve": float(risk[middle]),
        "its end": float(risk[end]),
        "Wald O/E": rate / float(p.mean()),
        "threshold": t,
        "places": {"curve": float(p[middle]), "its end": float(p[end])},
    }


def intervals(data, true):
    """Return the interval of each number, by the functions that `cal.clinical` calls."""
    risks = Risks.of(data, "canonical", 0.95, "clinical")
    slope, intercept = slope_and_intercept(risks)
    found = (observed_expected(risks), in_the_large(risks), slope, intercept, area(risks))
    found += (brier(risks), scaled_brier(risks))
    ends = {name: one.interval for name, one in zip(NAMES, found, strict=False)}
    benefit = net_benefit(risks, np.array([true["threshold"]]))
    ends["net benefit"] = float(benefit.low[0]), float(benefit.high[0])
    curve = flexible_curve(risks)
    for name, place in true["places"].items():
        ends[name] = tuple(float(np.interp(place, curve.x, e)) for e in (curve.low, curve.high))
    observed, expected = float(risks.y.sum()), float(risks.p.sum())
    error = 1.96 * np.sqrt(observed * (1 - observed / data.n)) / expected
    ends["Wald O/E"] = observed / expected - error, observed / expected + error
    return ends


def run(setting):
    """Return how often each interval holds."""
    rng, true = np.random.default_rng([setting.seed, setting.n]), truth(setting.model, setting.rate)
    held = dict.fromkeys(NAMES, 0)
    for _ in range(setting.sets):
        p, risk = drawn(setting, setting.n, rng)
        data = cal.Predictions(p, (rng.random(setting.n) < risk).astype(int))
        for name, (low, high) in intervals(data, true).items():
            held[name] += low <= true[name] <= high
    return setting, {name: 100 * count / setting.sets for name, count in held.items()}


def picture(path):
    """Draw the two pictures of a clinical paper: of the forecasts of a made-up risk model."""
    rng = np.random.default_rng(1)
    x = rng.normal(-1.5, SPREAD, 1500)
    labels = (rng.random(x.size) < 1 / (1 + np.exp(-x))).astype(int)
    p = 1 / (1 + np.exp(-(1.5 * x + 0.4)))
    data = cal.Predictions(p, labels, classes=["none", "complication"])
    figure, axes = plt.subplots(1, 2, figsize=(9, 4.6), layout="constrained")
    cal.flexible_diagram(data).plot(axes[0])
    cal.decision_curve(data).plot(axes[1])
    figure.savefig(path, dpi=160)


def peers(folder):
    """Print the largest difference between our values and those of other software."""
    import statsmodels.api as sm  # noqa: PLC0415
    from sklearn.metrics import brier_score_loss, roc_auc_score  # noqa: PLC0415

    worst, count = {}, 0
    for path in sorted(Path(folder).glob("*.npz")):
        with np.load(path) as file:
            data = cal.Predictions(file["probs"].astype(float), file["labels"])
        lens = "canonical" if data.m == 2 else "top"
        risks = Risks.of(data, lens, 0.95, "clinical")
        inner = risks.rows((risks.p > 0) & (risks.p < 1))
        slope, intercept = slope_and_intercept(inner)
        x, y = logit(inner.p), inner.y
        family = sm.families.Binomial()
        line = sm.GLM(y, sm.add_constant(x), family).fit(tol=1e-12).params
        large = sm.GLM(y, np.ones_like(x), family, offset=x).fit(tol=1e-12).params
        pairs = {
            "slope": (slope.value, line[1]),
            "intercept": (intercept.value, line[0]),
            "in the large": (in_the_large(inner).value, large[0]),
            "AUC": (area(risks).value, roc_auc_score(risks.y, risks.p)),
            "Brier score": (brier(risks).value, brier_score_loss(risks.y, risks.p)),
        }
        count += 1
        for name, (ours, theirs) in pairs.items():
            worst[name] = max(worst.get(name, 0.0), abs(ours - theirs) / max(1.0, abs(theirs)))
    print(f"{count} files:", ", ".join(f"{name} {off:.1g}" for name, off in worst.items()))


def main():
    """Print a table of how often intervals hold, or draw."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=200)
    parser.add_argument("--sizes", type=int, nargs="+", default=[50, 200, 1000])
    parser.add_argument("--rates", type=float, nargs="+", default=[0.3, 0.1, 0.02])
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--picture")
    parser.add_argument("--peers")
    given = parser.parse_args()
    if given.peers:
        peers(given.peers)
        return
    if given.picture:
        picture(given.picture)
        return
    settings = [
        Setting(*one, given.sets, given.seed) for one in product(MODELS, given.rates, given.sizes)
    ]
    print("| model | rate | rows | " + " | ".join(NAMES) + " |")
    print("|---" * (3 + len(NAMES)) + "|")
    with ProcessPoolExecutor(given.jobs) as pool:
        for setting, held in pool.map(run, settings):
            numbers = " | ".join(f"{held[name]:.1f}" for name in NAMES)
            print(f"| {setting.model} | {setting.rate:g} | {setting.n:,} | {numbers} |", flush=True)


if __name__ == "__main__":
    main()
