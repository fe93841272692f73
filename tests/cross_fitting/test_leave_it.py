"""A model that is calibrated is left alone in at least 90 of 100 data sets."""

from functools import cache

import numpy as np
import pytest
from chance import fewest, models

from calibrant.cross_fitting.before_after import _fit, _recommended, default_methods, make_folds
from calibrant.cross_fitting.result import apply_to_folds
from calibrant.scores import row_scores


def log_scores(data, seed):
    """Return the log scores of all rows, as it is and after each of the default methods."""
    folds = make_folds(data, 5, seed)
    logs = [row_scores(data)[0]]
    for method in default_methods(data):
        maps = _fit(data, method, folds, None)[:-1]
        logs.append(row_scores(apply_to_folds(data, maps, folds))[0])
    return np.stack(logs)


@cache
def of_calibrated_models(n, m, trials):
    return [log_scores(data, n) for data in models(7, n, m, trials=trials, spread=0.5)]


@pytest.mark.parametrize(("n", "m", "trials"), [(200, 2, 150), (1000, 2, 60), (300, 10, 40)])
def test_the_rule_leaves_calibrated_models_alone(n, m, trials):
    found = of_calibrated_models(n, m, trials)
    left = sum(_recommended(logs, np.ones(n)) == 0 for logs in found)
    assert left >= fewest(trials, 0.9)
    assert left >= 0.9 * trials  # as these seeds are, without any allowance for chance


def test_the_best_score_alone_would_not():
    found = of_calibrated_models(200, 2, 150)
    best = sum(int(logs.mean(axis=1).argmin()) == 0 for logs in found)
    assert best < fewest(150, 0.9)
