r"""Forecasts as meteorologists verify them: skill against climatology, the Brier score in parts.

.. math:: \mathrm{BSS} = 1 - \frac{\mathrm{BS}}{\mathrm{BS}_{\text{climatology}}}, \qquad
    \mathrm{RPS} = \frac1n \sum_i \sum_{k < m} \Bigl(\sum_{j \le k} p_{ij} - 1\{y_i \le k\}\Bigr)^2
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, final

import numpy as np

from calibrant.arguments import as_rows, check_data, takes_arrays
from calibrant.checks.parameters import brief, fraction, whole
from calibrant.lenses import Marginal
from calibrant.predictions import Predictions
from calibrant.risks.parts import brier, scaled_brier
from calibrant.risks.sample import Floats, Measured, Risks, check_clusters, number
from calibrant.tables import Lines, Tabular
from calibrant.words import many, percent

FEW = 21  # different forecasts, such as tenths or twentieths, each of which is a bin
BINS = 10


@final
@dataclass(frozen=True, slots=True)
class BrierParts:
    """The Brier score in parts: reliability - resolution + uncertainty + within bins.

    Parameters
    ----------
    reliability : float
        Mean square of mean forecast minus frequency of the bins; 0 is best (Murphy, 1973).
    resolution : float
        Mean square of frequency of the bins minus climatology; larger is better.
    uncertainty : float
        Brier score of climatology.
    within : float
        What forecasts that differ within a bin add (Stephenson et al., 2008): their variance minus
        twice their covariance with the outcomes. 0 if each forecast is a bin of its own.
    expected : float
        Mean reliability of a calibrated model with these forecasts, bins and independent rows.
    """

    reliability: float
    resolution: float
    uncertainty: float
    within: float
    expected: float

    @property
    def score(self) -> float:
        """The Brier score, which is the sum."""
        return self.reliability - self.resolution + self.uncertainty + self.within

    def __str__(self) -> str:
        return (
            f"{self.score:.4f} = {self.reliability:.4f} (reliability) - {self.resolution:.4f}"
            f" (resolution) + {self.uncertainty:.4f} (uncertainty) {self.within:+.4f} (within bins)"
        )


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Verification(Tabular):
    """What forecasters ask of probabilities; `print` shows it.

    Parameters
    ----------
    n : int
        Number of forecasts.
    classes : tuple of str
        Names of the outcomes, in their order.
    climatology : array of shape (m,)
        What skill is measured against: the frequencies of the outcomes, unless others were given.
    brier : float
        Brier score: of the event alone for two outcomes, the sum over all of them for more.
    brier_skill : Measured
        Brier skill score against climatology.
    rps : float or None
        Ranked probability score of more than two outcomes, taken in their order.
    rps_skill : Measured or None
        Its skill.
    parts : BrierParts
        The Brier score in parts.
    bins : int
        Number of bins of the parts: 0 if each different forecast is one.
    reference : tuple of float
        Brier score and, of more than two outcomes, RPS of climatology.
    settings : mapping
        What it was made with.
    """

    n: int
    classes: tuple[str, ...]
    climatology: Floats
    brier: float
    brier_skill: Measured
    rps: float | None
    rps_skill: Measured | None
    parts: BrierParts
    bins: int
    reference: tuple[float, ...]
    settings: Mapping[str, Any]

    def lines(self) -> Lines:
        """Return header and lines of the table."""
        level = percent(float(self.settings["level"]))
        return ("item", "measure", "value", f"{level} interval"), [list(r) for r in self._rows()]

    def _rows(self) -> Iterator[tuple[str, str, str, str]]:
        yield "forecasts", "rows", f"{self.n:,}", ""
        shown = range(len(self.classes)) if len(self.classes) > 2 else (1,)
        for k in shown:
            name = f"climatology of {self.classes[k]}"
            yield "forecasts", name, number(float(self.climatology[k])), ""
        of = "event alone" if len(self.classes) == 2 else "sum over classes"
        yield "skill", f"Brier score ({of})", number(self.brier), ""
        yield "skill", "Brier score of climatology", number(self.reference[0]), ""
        yield "skill", "Brier skill score", *_cells(self.brier_skill)
        if self.rps is not None and self.rps_skill is not None:
            yield "skill", "RPS (sum over thresholds, not divided)", number(self.rps), ""
            yield "skill", "RPS of climatology", number(self.reference[1]), ""
            yield "skill", "RPS skill score", *_cells(self.rps_skill)
        parts = self.parts
        yield "Brier score in parts", "reliability (less is better)", f"{parts.reliability:.4f}", ""
        yield "Brier score in parts", "− resolution", f"{parts.resolution:.4f}", ""
        name = "+ uncertainty (of the frequency)"
        yield "Brier score in parts", name, f"{parts.uncertainty:.4f}", ""
        if self.bins:
            name = f"+ within {self.bins} bins"
            yield "Brier score in parts", name, f"{parts.within:.4f}".replace("-", "−"), ""
        yield "Brier score in parts", "= Brier score", f"{parts.score:.4f}", ""

    @property
    def sentences(self) -> list[str]:
        """What the numbers say."""
        found = [f"{many(self.n, 'forecast')}.", self._skill("Brier", self.brier_skill)]
        if self.rps_skill is not None:
            order = ", ".join(self.classes[:4]) + ", …" * (len(self.classes) > 4)
            found += [f"{self._skill('RPS', self.rps_skill)[:-1]}, for the order {order}."]
        reliability, expected = f"{self.parts.reliability:.4f}", f"{self.parts.expected:.4f}"
        shown = f"Reliability {reliability}; a calibrated model would show about {expected}."
        return [*found, f"{shown} Only skill scores have intervals."]

    def _skill(self, title: str, skill: Measured) -> str:
        value, (low, high) = skill
        verdict = "not shown to be better or worse than climatology"
        if low > 0:
            verdict = "better than climatology"
        elif high < 0:
            verdict = "worse than climatology"
        level = percent(float(self.settings["level"]))
        ends = f"{level} interval {number(low)} to {number(high)}"
        return f"{title} skill score {number(value)} ({ends}): {verdict}."

    def records(self) -> list[dict[str, Any]]:
        """Return plain values for each row of a data frame."""
        found = {"Brier skill score": self.brier_skill, "RPS skill score": self.rps_skill}
        return [
            {"measure": name, "value": one.value, "low": one.interval[0], "high": one.interval[1]}
            for name, one in found.items()
            if one is not None
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and texts."""
        skills = {"brier_skill": self.brier_skill, "rps_skill": self.rps_skill}
        measured = {
            name: None if one is None else {"value": one.value, "interval": list(one.interval)}
            for name, one in skills.items()
        }
        return {
            "n": self.n,
            "classes": list(self.classes),
            "climatology": self.climatology.tolist(),
            "brier": self.brier,
            "rps": self.rps,
            **measured,
            "reference": list(self.reference),
            "parts": asdict(self.parts),
            "bins": self.bins,
            "sentences": self.sentences,
            "settings": dict(self.settings),
        }

    def __str__(self) -> str:
        return "\n".join(self.sentences)

    def __repr__(self) -> str:
        return f"<{self.n:,} forecasts; Brier skill {self.brier_skill}>"


def _cells(measured: Measured) -> tuple[str, str]:
    low, high = map(number, measured.interval)
    return number(measured.value), f"{low} to {high}"


@takes_arrays
def verification(
    data: Predictions,
    *,
    bins: int | None = None,
    climatology: float | Sequence[float] | None = None,
    level: float = 0.95,
) -> Verification:
    r"""Verify probability forecasts: skill against climatology, and the Brier score in parts.

    .. math:: \mathrm{BS} = \sum_b \frac{n_b}{n} (\bar p_b - \bar y_b)^2
        - \sum_b \frac{n_b}{n} (\bar y_b - \bar y)^2 + \bar y (1 - \bar y) + \text{within bins}

    Parameters
    ----------
    data : Predictions
        Or probabilities, with labels after them. For the ranked probability score, classes stand
        in their order.
    bins : int, optional
        Number of bins of equal width for reliability and resolution. Default: each forecast is a
        bin if at most 21 differ, as tenths and twentieths do, else 10.
    climatology : float or sequence of float, optional
        Probability of the event, or of each class, from a longer record. Default: the frequencies
        in the data, which is what "sample climatology" means.
    level : float, default 0.95
        Level of the intervals.

    Returns
    -------
    Verification
        `.brier_skill` and `.rps_skill` with `.value` and `.interval`; `.parts`; a table.

    Notes
    -----
    `scores.decompose` splits the score without bins (CORP). Forecasts of successive days depend on
    each other: name weeks or months as clusters, and intervals allow for it.

    References
    ----------
    Murphy (1973), "A new vector partition of the probability score". Stephenson, Coelho and
    Jolliffe (2008), "Two extra components in the Brier score decomposition".

    Examples
    --------
    >>> found = verification([0.1, 0.1, 0.9, 0.9] * 10, [0, 0, 1, 0] * 5 + [0, 0, 1, 1] * 5)
    >>> print(found.parts)
    0.1100 = 0.0163 (reliability) - 0.1406 (resolution) + 0.2344 (uncertainty) +0.0000 (within bins)
    >>> print(found.brier_skill)  # doctest: +ELLIPSIS
    0.531 (...)
    """
    fraction("level", level)
    check_data(data)
    given = as_rows(data).at_hand("verification").given
    given = given.take(np.flatnonzero(given.weights > 0))
    if given.clusters is not None:
        check_clusters("verification", np.unique(given.clusters).size)
    weights = given.weights / given.weights.sum()
    occurred = np.eye(given.m)[given.labels]
    reference = _climatology(climatology, given.m, weights @ occurred)
    probs = given.probs.astype(np.float64)
    cut = _bins(probs, bins)
    shown = [1] if given.m == 2 else list(range(given.m))
    parts = [_parts(probs[:, k], occurred[:, k], weights, cut) for k in shown]
    skills = _skills(given, occurred, None if climatology is None else reference, level)
    return Verification(
        given.n,
        given.classes,
        reference,
        *skills,
        parts=BrierParts(*(sum(column) for column in zip(*parts, strict=True))),
        bins=cut,
        reference=_of_climatology(reference, occurred, weights),
        settings={"level": level, "bins": cut, "climatology": reference.tolist()},
    )


def _skills(
    data: Predictions, occurred: Floats, fixed: Floats | None, level: float
) -> tuple[float, Measured, float | None, Measured | None]:
    """Return the Brier score and its skill, and of more than two outcomes the RPS and its."""
    if data.m == 2:
        risks = Risks.of(data, Marginal(1), level, "verification")
        given = None if fixed is None else float(fixed[1])
        return brier(risks).value, scaled_brier(risks, given), None, None
    rows, probs = _Rows(data, level), data.probs.astype(np.float64)
    upto = [np.cumsum(each, axis=1)[:, :-1] for each in (probs, occurred)]
    known = None if fixed is None else np.cumsum(fixed)[:-1]
    return *rows.skill(probs, occurred, fixed), *rows.skill(upto[0], upto[1], known)


class _Rows:
    """Rows of more than two outcomes, and what chance does to a ratio of their mean scores."""

    def __init__(self, data: Predictions, level: float) -> None:
        self.weights = data.weights / data.weights.sum()
        self.risks = Risks(
            np.full(data.n, 0.5), data.labels >= 0, self.weights, data.clusters, data.weighted, 0, 0
        ).at(level)

    def skill(
        self, probs: Floats, occurred: Floats, fixed: Floats | None
    ) -> tuple[float, Measured]:
        r"""Return a mean score, and its skill.

        Scores are squared distances of (n, k) numbers. The interval is one of the logarithm of
        score over reference, with the influences that rows have on it.
        """
        from scipy.special import stdtrit  # noqa: PLC0415 (slow to import)

        w = self.weights
        scores = ((probs - occurred) ** 2).sum(axis=1)
        rates = w @ occurred
        centre = rates if fixed is None else fixed
        others = ((centre - occurred) ** 2).sum(axis=1)
        score, reference = float(w @ scores), float(w @ others)
        if score <= 0 or reference <= 0:
            value = 1.0 if score <= 0 else -np.inf
            return score, Measured(value, (-np.inf, 1.0))
        ratio = np.log(score / reference)
        influence = w * (scores / score - others / reference)
        rows = float(1 / (w**2).sum())
        half = float(stdtrit(max(1.0, rows - 1), (1 + self.risks.level) / 2))
        half *= self.risks.stretched(influence) / self.risks.z
        half *= float(np.sqrt(influence @ influence * rows / max(rows - 1, 1)))
        low, high = (float(1 - np.exp(ratio + sign * half)) for sign in (1, -1))
        return score, Measured(1 - score / reference, (low, high))


def _climatology(given: Any, m: int, rates: Floats) -> Floats:
    """Return the climatology of each class (m,), which must be probabilities."""
    if given is None:
        return rates
    found = np.atleast_1d(np.asarray(given, np.float64))
    if m == 2 and found.size == 1:
        found = np.array([1 - found[0], found[0]])
    whole_law = found.shape == (m,) and abs(found.sum() - 1) < 0.01
    if not whole_law or found.min() < 0 or found.max() >= 1:
        raise ValueError(
            "`climatology` must be the probability of the event, or one for each class, which add"
            f" up to 1; found {brief(given)}."
        )
    return np.asarray(found / found.sum())


def _of_climatology(law: Floats, occurred: Floats, weights: Floats) -> tuple[float, ...]:
    """Return the Brier score of climatology; and, of more than two outcomes, its RPS."""
    off = law - occurred
    if law.size == 2:
        return (float(weights @ off[:, 1] ** 2),)
    upto = np.cumsum(off, axis=1)[:, :-1]
    return tuple(float(weights @ (each**2).sum(axis=1)) for each in (off, upto))


def _bins(probs: Floats, bins: int | None) -> int:
    """Return the number of bins; 0 if each different forecast is one."""
    if bins is not None:
        return whole("bins", bins, least=1, most=10_000)
    different = max(np.unique(column).size for column in probs.T)
    return 0 if different <= FEW else BINS


def _parts(p: Floats, y: Floats, weights: Floats, bins: int) -> tuple[float, ...]:
    """Return the parts of the Brier score of one event, in the order of `BrierParts`."""
    named = np.minimum((p * bins).astype(np.int64), bins - 1) if bins else p
    places = np.unique(named, return_inverse=True)[1]
    mass = np.bincount(places, weights)
    forecast, rate = (np.bincount(places, weights * each) / mass for each in (p, y))
    climate = float(weights @ y)
    aside, off = p - forecast[places], y - rate[places]
    within = float(weights @ (aside**2 - 2 * aside * off))
    reliability = float(mass @ (forecast - rate) ** 2)
    resolution, uncertainty = float(mass @ (rate - climate) ** 2), climate * (1 - climate)
    expected = float((weights**2 * p * (1 - p) / mass[places]).sum())
    return reliability, resolution, uncertainty, within, expected
