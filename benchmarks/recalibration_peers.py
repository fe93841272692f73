"""Other libraries that fit recalibration maps: held-out log scores and times, method by method.

The rows of a bundled network are split into two halves: maps are fitted to one and judged on the
other. A worse score counts if it is beyond two standard errors of the difference of the rows.
dirichletcal cannot be installed by pip (its list of requirements is broken); where its source is on
the path, it takes part.
"""

import logging
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

import calibrant as cal
from benchmarks import timing
from calibrant import lenses, recalibration

Fit = Callable[[cal.Predictions], Callable[[cal.Predictions], Any]]
ROUNDS = 3
LONG = 1.0  # seconds: a fit that takes longer is not repeated
OURS = "calibrant"


def ours(method: recalibration.Method) -> Fit:
    def fit(train: cal.Predictions) -> Callable[[cal.Predictions], Any]:
        fitted = method.fit(train)
        return lambda test: fitted(test).probs

    return fit


def sklearn_peer(method: str) -> Fit:
    from sklearn.base import BaseEstimator, ClassifierMixin
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.frozen import FrozenEstimator

    class Given(ClassifierMixin, BaseEstimator):
        """A classifier whose features are its probabilities."""

        def fit(self, _: Any, y: Any) -> Any:
            self.classes_ = np.arange(y)
            return self

        def predict_proba(self, X: Any) -> Any:  # noqa: N803
            return X

        def predict(self, X: Any) -> Any:  # noqa: N803
            return X.argmax(axis=1)

        def decision_function(self, X: Any) -> Any:  # noqa: N803
            logs = np.log(np.maximum(X, 1e-300))
            return logs[:, 1] - logs[:, 0] if X.shape[1] == 2 else logs

    def fit(train: cal.Predictions) -> Callable[[cal.Predictions], Any]:
        given = FrozenEstimator(Given().fit(None, train.m))
        model = CalibratedClassifierCV(given, method=method, ensemble=False)
        model.fit(doubles(train), train.labels)
        return lambda test: model.predict_proba(doubles(test))

    return fit


def probmetrics_peer(name: str, **options: Any) -> Fit:
    from probmetrics import calibrators

    def fit(train: cal.Predictions) -> Callable[[cal.Predictions], Any]:
        model = getattr(calibrators, name)(**options)
        model.fit(doubles(train), train.labels.astype(np.int64))
        return lambda test: model.predict_proba(doubles(test))

    return fit


def netcal_peer(name: str) -> Fit:
    from netcal import scaling

    def fit(train: cal.Predictions) -> Callable[[cal.Predictions], Any]:
        model = getattr(scaling, name)()
        model.fit(columns(train), train.labels.astype(np.int64), random_state=0)

        def apply(test: cal.Predictions) -> Any:
            found = np.asarray(model.transform(columns(test)))
            return found if found.ndim == 2 else np.stack((1 - found, found), axis=1)

        return apply

    return fit


def betacal_peer() -> Fit:
    from betacal import BetaCalibration

    def fit(train: cal.Predictions) -> Callable[[cal.Predictions], Any]:
        model = BetaCalibration("abm").fit(columns(train)[:, None], train.labels)

        def apply(test: cal.Predictions) -> Any:
            found = model.predict(columns(test)[:, None])
            return np.stack((1 - found, found), axis=1)

        return apply

    return fit


def dirichletcal_peer() -> Fit:
    from dirichletcal.calib.fulldirichlet import FullDirichletCalibrator

    def fit(train: cal.Predictions) -> Callable[[cal.Predictions], Any]:
        model = FullDirichletCalibrator(reg_lambda=0.01, reg_mu=0.01)
        model.fit(doubles(train), train.labels)
        return lambda test: model.predict_proba(doubles(test))

    return fit


def doubles(data: cal.Predictions) -> Any:
    return data.probs.astype(np.float64)


def columns(data: cal.Predictions) -> Any:
    """Return P(class 1) of two classes, else all columns."""
    return doubles(data)[:, 1] if data.m == 2 else doubles(data)


def contests() -> dict[tuple[str, str], dict[str, Callable[[], Fit]]]:
    """Return who takes part, by problem and method; a peer is imported when it is called."""
    temperature, isotonic = recalibration.Temperature(), recalibration.Isotonic()
    return {
        ("ten classes", "temperature"): {
            OURS: lambda: ours(temperature),
            "scikit-learn": lambda: sklearn_peer("temperature"),
            "probmetrics": lambda: probmetrics_peer("TemperatureScalingCalibrator"),
            "netcal": lambda: netcal_peer("TemperatureScaling"),
        },
        ("ten classes", "vector"): {
            OURS: lambda: ours(recalibration.Vector()),
            "probmetrics": lambda: probmetrics_peer("VectorScalingCalibrator"),
        },
        ("ten classes", "matrix"): {
            OURS: lambda: ours(recalibration.Matrix()),
            "probmetrics": lambda: probmetrics_peer("MatrixScalingCalibrator"),
        },
        ("ten classes", "Dirichlet"): {
            OURS: lambda: ours(recalibration.Dirichlet(0.01, 0.01)),
            "dirichletcal": dirichletcal_peer,
        },
        ("ten classes", "isotonic"): {
            OURS: lambda: ours(isotonic),
            "scikit-learn": lambda: sklearn_peer("isotonic"),
        },
        ("two classes", "temperature"): {
            OURS: lambda: ours(temperature),
            "scikit-learn": lambda: sklearn_peer("temperature"),
        },
        ("two classes", "slope and intercept"): {
            OURS: lambda: ours(recalibration.Vector()),
            "scikit-learn sigmoid": lambda: sklearn_peer("sigmoid"),
            "netcal logistic": lambda: netcal_peer("LogisticCalibration"),
        },
        ("two classes", "beta"): {
            OURS: lambda: ours(recalibration.Beta()),
            "betacal": betacal_peer,
            "netcal": lambda: netcal_peer("BetaCalibration"),
        },
        ("two classes", "isotonic"): {
            OURS: lambda: ours(isotonic),
            "scikit-learn": lambda: sklearn_peer("isotonic"),
        },
    }


def problems() -> dict[str, tuple[cal.Predictions, cal.Predictions]]:
    """Return the two halves of each problem."""
    data = cal.datasets.cifar10("resnet")
    cat = lenses.Marginal("cat")(data)
    two = cal.Predictions(np.ascontiguousarray(cat.probs[:, ::-1]), 1 - cat.labels)
    even = np.arange(data.n) % 2 == 0
    models = {"ten classes": data, "two classes": two}
    return {name: (model.restrict(even), model.restrict(~even)) for name, model in models.items()}


def row_scores(probs: Any, labels: Any) -> Any:
    p = np.asarray(probs, np.float64)[np.arange(len(labels)), labels]
    return -np.log(np.clip(p, 1e-15, 1.0))  # isotonic maps give zeros: an infinite score


@contextmanager
def quiet() -> Iterator[None]:
    logging.disable(logging.WARNING)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def contest(
    halves: tuple[cal.Predictions, cal.Predictions], who: dict[str, Callable[[], Fit]]
) -> Iterator[tuple[str, Any, float]]:
    """Yield the name, the scores of the rows and the least time of a fit; None if not there."""
    train, test = halves
    for name, prepare in who.items():
        try:
            fit = prepare()
        except ImportError:
            yield name, None, np.nan
            continue
        seconds = []
        for _ in range(ROUNDS):
            start = time.perf_counter()
            fitted = fit(train)
            seconds.append(time.perf_counter() - start)
            if seconds[0] > LONG:
                break
        yield name, row_scores(fitted(test), test.labels), min(seconds)


def report() -> str:
    lines, worse, slower = [], [], []
    halves = problems()
    with quiet():
        for (problem, method), who in contests().items():
            mine: tuple[Any, float] = (None, 0.0)
            for name, scores, seconds in contest(halves[problem], who):
                if name == OURS:
                    mine = scores, seconds
                elif scores is not None:
                    gap = mine[0] - scores
                    beyond = gap.mean() > 2 * gap.std() / np.sqrt(gap.size)
                    worse += [(problem, method, name)] if beyond else []
                    slower += [(problem, method, name)] if mine[1] > seconds else []
                cells = ["not installed", ""]
                if scores is not None:
                    cells = [f"{scores.mean():.5f}", timing.milliseconds(seconds)]
                lines.append([problem, method, name, *cells])
    header = ["problem", "method", "library", "held-out log score", "fit"]
    claims = [
        timing.verdict(f"no worse log score beyond two standard errors {worse or ''}", not worse),
        timing.verdict(f"no slower fit {slower or ''}", not slower),
        *sizes(),
    ]
    title = "## Recalibration, 5,000 rows fitted and 5,000 judged"
    return "\n\n".join([title, timing.table(header, lines), "\n".join(claims)])


def sizes() -> list[str]:
    """Return whether large fits are as quick as they should be."""
    rng = np.random.default_rng(0)
    probs = rng.random((50_000, 1000), np.float32) + np.float32(0.001)
    probs /= probs.sum(axis=1, keepdims=True)
    large = cal.Predictions(probs, rng.integers(0, 1000, 50_000))
    ten = cal.datasets.cifar10("resnet")
    tasks = {
        "pass": lambda: np.exp(np.log(probs)).sum(),
        "temperature": lambda: recalibration.Temperature().fit(large),
        "Dirichlet": lambda: recalibration.Dirichlet().fit(ten),
    }
    best = timing.best(timing.interleaved(tasks, ROUNDS))
    passes = best["temperature"] / best["pass"]
    return [
        timing.verdict(
            f"temperature on 50,000 × 1,000 within 20 passes of log and exp: {passes:.1f}",
            passes <= 20,
        ),
        timing.verdict(
            f"Dirichlet on 10,000 × 10 within a second: {timing.milliseconds(best['Dirichlet'])}",
            best["Dirichlet"] <= 1,
        ),
    ]


if __name__ == "__main__":
    print(report())
