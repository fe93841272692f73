"""Other ways to raise an alarm that has a promise, beside which `monitoring.py` puts the monitor.

Each returns the row of its alarm. Tests of all rows so far are repeated at levels that sum to 5 %
(Bonferroni), so that a calibrated stream has an alarm with a probability of at most 5 %; bets end
at 20.
"""

import numpy as np
from monitoring_streams import NEVER, first, logit
from scipy.stats import chi2
from sklearn.isotonic import IsotonicRegression

import calibrant as cal

EVERY = 100  # rows between two looks
ALPHA = 0.05


def looks(n):
    """Yield each look: rows until then, and its level, which sum to 5 % over all looks ever."""
    for k, rows in enumerate(range(EVERY, n + 1, EVERY), 1):
        yield rows, ALPHA * 6 / (np.pi * k) ** 2


def score_tests(p, y):
    """Score and chi-squared tests of tenths, every 100 rows; approximate."""
    tenth = np.minimum((p * 10).astype(int), 9)
    for n, level in looks(p.size):
        e, v = y[:n] - p[:n], p[:n] * (1 - p[:n])
        x = logit(p[:n])
        scores = np.array([e.sum(), (e * x).sum()])
        spread = np.array([[v.sum(), (v * x).sum()], [(v * x).sum(), (v * x * x).sum()]])
        of_score = chi2.sf(scores @ np.linalg.solve(spread, scores), 2)
        sums = [np.bincount(tenth[:n], each, 10) for each in (e, v)]
        filled = sums[1] > 0
        of_tenths = chi2.sf((sums[0][filled] ** 2 / sums[1][filled]).sum(), filled.sum())
        if 2 * min(of_score, of_tenths) <= level:
            return n - 1
    return NEVER


def exact_tests(p, y):
    """Exact tests of the number of events in each tenth and in all rows, every 100 rows.

    Three p-values share the level: the smallest of the tenths, all tenths together by Fisher's
    method, and that of all rows. Those of counts are twice the smaller tail, so the tests are
    valid for every number of rows.
    """
    tenth = np.minimum((p * 10).astype(int), 9)
    counts = [np.ones(1) for _ in range(10)]  # the distribution of the number of events
    occurred, of_all = np.zeros(10, int), np.ones(1)
    for n, level in looks(p.size):
        new = np.ones(1)
        for i in range(n - EVERY, n):
            step = np.array([1 - p[i], p[i]])
            new, counts[tenth[i]] = np.convolve(new, step), np.convolve(counts[tenth[i]], step)
            occurred[tenth[i]] += y[i]
        of_all = np.convolve(of_all, new)
        each = np.array([two_sided(*both) for both in zip(counts, occurred, strict=True)])
        together = chi2.sf(-2 * np.log(each).sum(), 20)
        if 3 * min(10 * each.min(), together, two_sided(of_all, occurred.sum())) <= level:
            return n - 1
    return NEVER


def two_sided(pmf, count):
    """Return twice the chance of so many events or fewer, or of so many or more."""
    return float(np.clip(2 * min(pmf[: count + 1].sum(), pmf[count:].sum()), 1e-300, 1.0))


def calibration_tests(p, y):
    """Tests of the library's default, which are exact, each after 1.4 times as many rows."""
    ends = (EVERY * 2 ** np.arange(0, 8, 0.5)).astype(int)
    ends = ends[ends <= p.size]
    for n in ends:
        data = cal.Predictions(p[:n], y[:n])
        if cal.calibration_test(data, n_resamples=999, rng=0).pvalue <= ALPHA / ends.size:
            return int(n) - 1
    return NEVER


def isotonic_bets(p, y):
    """Bets on the isotonic fit to all rows before, which is made anew every 100 rows."""
    wealth, q = 0.0, p.copy()
    for n in range(0, p.size, EVERY):
        part = slice(n, n + EVERY)
        if n:
            fit = IsotonicRegression(y_min=0.0, y_max=1.0, out_of_bounds="clip").fit(p[:n], y[:n])
            q[part] = 0.9 * fit.predict(p[part]) + 0.1 * p[part]
        steps = wealth + np.cumsum(np.log(np.where(y, q / p, (1 - q) / (1 - p))[part]))
        if steps.max() >= np.log(1 / ALPHA):
            return n + first(steps >= np.log(1 / ALPHA))
        wealth = steps[-1]
    return NEVER


RIVALS = {
    "score tests": score_tests,
    "exact tests": exact_tests,
    "calibration_test": calibration_tests,
    "isotonic bets": isotonic_bets,
}
