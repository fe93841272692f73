"""What tests, diagrams and comparisons of models show, in plain words."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant import words
from calibrant.diagrams import ReliabilityDiagram
from calibrant.diagrams.along import runs
from calibrant.inference import Classwise, Comparison, Difference, EvaluationRow, Verdict
from calibrant.lenses import Canonical, Lens, TopLabel
from calibrant.regions import Region
from calibrant.words import ALPHA, NEEDED, capital, many, pvalue

SIZES = ("off by", "adjusted p")  # columns of each lens, in the table of models
SMALL = 0.01  # share of the rows below which a bin is not called the worst


class Line(NamedTuple):
    """One sentence about one aspect of calibration."""

    lead: str  # what is the case
    facts: str  # the numbers
    off: bool  # whether calibration is rejected, or refuted by a single outcome

    @property
    def text(self) -> str:
        """The sentence."""
        return f"{self.lead}: {self.facts}."


def line_of(
    found: Verdict, diagram: ReliabilityDiagram | None, tests: Sequence[EvaluationRow] = ()
) -> Line:
    """Return what the tests say, with the place where it is worst if a diagram shows one.

    Where no bin shows it, the test is named that does: it looks at all rows together.
    """
    place = ""
    if diagram is not None and found.rejected:
        place = worst_range(diagram) or _without_bins(found, tests)
    off = found.rejected or found.impossible is not None
    return Line(found.lead, found.facts + place, off)


def _without_bins(found: Verdict, tests: Sequence[EvaluationRow]) -> str:
    """Say which test rejects, where no bin is significant by itself."""
    mine = [row for row in tests if row.lens == found.lens]
    if not mine:
        return ""
    strongest = min(mine, key=lambda row: row.adjusted_pvalue).statistic
    return f"; no bin shows it by itself, but all rows together do ({strongest})"


def classes_verdict(found: Classwise) -> Line:
    """Say how many classes are off when each is looked at alone, and which one most."""
    if (found.adjusted_pvalues <= ALPHA).any():
        return _some_classes(found)
    m, n_resamples = len(found.classes), found.null.shape[1]
    least = pvalue(float(found.adjusted_pvalues.min()), n_resamples)
    strongest = f"{least} for the strongest of {m:,}, adjusted for all tests of the page"
    undecided = n_resamples < NEEDED
    if found.mean_pvalue <= ALPHA:
        lead = "The classes are off when each is looked at alone, all of them taken together"
        mean, expected = words.apart(found.mean, float(found.null.mean()))
        facts = (
            f"{mean} in the mean of {m:,} classes on {found.settings['partition']}, where"
            f" {expected} would be expected of calibrated ones;"
            f" {pvalue(found.mean_pvalue, n_resamples)}. No single class is shown to be off;"
            f" {strongest}"
        )
        return Line(lead, facts + (f"; {words.too_few()}" if undecided else ""), off=True)
    if undecided:
        lead = f"Single classes cannot be judged with {many(n_resamples, 'resample')}"
        return Line(lead, f"{words.too_few()}; {strongest}", off=False)
    lead = "No class shows a sign of miscalibration when each is looked at alone"
    unclear = words.too_few_for(len(found.undecided), "class", "classes")
    return Line(lead, strongest + unclear, off=False)


def regions_verdict(regions: Sequence[Region]) -> Line:
    """Say which region is worst, and how many more are off."""
    worst, more = regions[0], len(regions) - 1
    others = f"; {many(more, 'more region')}, see Where" if more else ""
    return Line(f"Worst region, {worst.conditions}", worst.facts + others, off=True)


def _some_classes(found: Classwise) -> Line:
    """Say how many classes are off, and which one most."""
    off = found.adjusted_pvalues <= ALPHA
    count, m = int(off.sum()), len(found.classes)
    j = int(np.argmax(np.where(off, found.values, -1.0)))
    which = "All" if count == m else f"{count:,} of"
    lead = f"{which} {m:,} classes {words.be(count)} off when each is looked at alone"
    value, expected = words.apart(float(found.values[j]), float(found.null[j].mean()))
    p = pvalue(float(found.adjusted_pvalues[j]), found.null.shape[1])
    facts = (
        f"most of all “{found.classes[j]}” by {value} on average ({found.settings['partition']}),"
        f" where {expected} would be expected of a calibrated one;"
        f" {p}, adjusted for all tests of the page"
    )
    return Line(lead, facts, off=True)


def spoken_outcomes(diagram: ReliabilityDiagram) -> list[str]:
    """Return the outcomes as a sentence names them."""
    names = [f"“{name}”" for name in diagram.classes]
    if diagram.subject is not None:
        names[diagram.event] = diagram.subject
    return names


def bin_sentences(
    diagram: ReliabilityDiagram, names: Sequence[str], most: int
) -> list[tuple[float, str]]:
    """Describe the significant bins of one model, the `most` that matter, outcomes by `names`.

    Of each: share times deviation, and a sentence.
    """
    series = diagram.series[0]
    fn, p, n_resamples = series.function, series.cells.adjusted_pvalues, series.cells.largest.size
    found = []
    for c in np.flatnonzero(series.significant(diagram.alpha)):
        gaps = fn.deviations[c]
        j = diagram.event if diagram.n_outcomes == 2 else int(np.argmax(np.abs(gaps)))
        says = "{} had a probability of {:.1%} on average and occurred in {:.1%}"
        if names[j] == TopLabel().subject:
            says = "the confidence was {1:.1%} on average and the accuracy {2:.1%}"
        text = (
            f"in {words.rows_of(float(fn.counts[c]), fn.weighted)}"
            f" {says.format(names[j], fn.predicted[c, j], fn.observed[c, j])};"
            f" {pvalue(float(p[c]), n_resamples)}, adjusted for all tests of the page."
        )
        found.append((float(fn.proportions[c] * np.abs(gaps).sum() / 2), text))
    return sorted(found, key=lambda pair: -pair[0])[:most]


def worst_range(diagram: ReliabilityDiagram) -> str:
    """Say between which predictions significant deviations are largest; "" if none is.

    Bins of the common sign count, and of these such as hold a hundredth of the rows, if there
    are any: a few rows say little about a model.
    """
    fn = diagram.series[0].function
    candidates = _candidates(diagram)
    if not candidates.any():
        return ""
    x, size = fn.predicted[:, diagram.event], np.abs(fn.deviations[:, diagram.event])
    worst = int(np.argmax(np.where(candidates, size, -1.0)))
    large = candidates & (size >= 0.75 * size[worst])
    order = np.argsort(x, kind="stable")
    place = int(np.flatnonzero(order == worst)[0])
    first, last = next((a, b - 1) for a, b in runs(large[order]) if a <= place < b)
    k, (left, right) = diagram.edges.size - 1, diagram.shown
    ends = (x[order[[first, last]]] - left) / (right - left) * k
    ends = (ends + 1e-9).astype(int)  # a mean of equal numbers may be rounded below them
    low, high = np.clip(ends, 0, k - 1) + np.array([0, 1])
    return f"; worst between {diagram.edges[low]:.3g} and {diagram.edges[high]:.3g}"


def _candidates(diagram: ReliabilityDiagram) -> NDArray[np.bool_]:
    """Return which bins (bins,) may be called the worst: significant ones of the common sign.

    If both signs are common, all that are significant may.
    """
    series = diagram.series[0]
    gaps = series.function.deviations[:, diagram.event]
    significant = series.significant(diagram.alpha)
    mass = series.function.proportions * significant
    net = float(mass @ gaps)
    off = significant & (gaps != 0)
    if abs(net) >= 0.5 * float(mass @ np.abs(gaps)):
        off &= gaps * np.sign(net) > 0
    big: NDArray[np.bool_] = off & (series.function.proportions >= SMALL)
    return big if big.any() else off


def comparison_parts(found: Comparison, main: Lens) -> dict[str, Any]:
    """Return the table of models, the furthest off by the `main` lens first, and paragraphs."""
    subjects = _subjects(found)
    lenses = sorted(subjects, key=lambda lens: lens != main)
    order = _ranked(found, lenses[0])
    scores = list(next(iter(found.scores.values())))
    groups = [("", 1), *((_short(lens, subjects[lens]), len(SIZES)) for lens in lenses)]
    return {
        "header": [
            "model",
            *SIZES * len(lenses),
            *(words.score_name(score).removesuffix(" score") for score in scores),
        ],
        "groups": [*groups, ("scores", len(scores))],
        "rows": [_row(found, name, lenses) for name in order],
        "paragraphs": paragraphs(found, lenses),
    }


def paragraphs(found: Comparison, lenses: Sequence[Lens] = ()) -> list[tuple[str, str]]:
    """Say through each lens who is further off than whom: what it is about, and what is known."""
    subjects = _subjects(found)
    return [
        (capital(subjects[lens]), _paragraph(found, lens, _ranked(found, lens)))
        for lens in lenses or subjects
    ]


def _subjects(found: Comparison) -> dict[Lens, str]:
    """Return what each lens is about."""
    first = next(iter(found.evaluations.values()))
    return {verdict.lens: verdict.subject for verdict in first.verdicts}


def _short(lens: Lens, subject: str) -> str:
    """Name a lens above its columns."""
    if lens == Canonical() and subject.startswith("the full"):
        return "full distributions"
    return subject.removeprefix("the probabilities of ").removeprefix("the ")


def _ranked(found: Comparison, lens: Lens) -> list[str]:
    """Return the models, the furthest off first; those of unknown size last."""

    def size(name: str) -> float:
        (verdict,) = (v for v in found.evaluations[name].verdicts if v.lens == lens)
        return -1.0 if verdict.size is None else verdict.size

    return sorted(found.evaluations, key=size, reverse=True)


def _row(found: Comparison, name: str, lenses: Sequence[Lens]) -> list[str]:
    verdicts = {v.lens: v for v in found.evaluations[name].verdicts}
    cells = [name]
    for lens in lenses:
        size, interval, _, p = verdicts[lens].cells()
        cells += [f"{size.removesuffix(' points')} ({interval})" if interval else size, p]
    return [*cells, *map(words.decimal, found.scores[name].values())]


def _paragraph(found: Comparison, lens: Lens, order: Sequence[str]) -> str:
    """Say through one lens who is further off than whom."""
    pairs = [one for one in found.differences if one.lens == lens]
    told = list(filter(None, (_further_off(pairs, worse, order) for worse in order)))
    unsure = [one for one in pairs if one.worse is None]
    if unsure:
        told.append(f"the data do not tell {_unsure(unsure, not told)}")
    return f"{'; '.join(told)}."


def _further_off(pairs: Sequence[Difference], worse: str, order: Sequence[str]) -> str:
    """Say which models one is further off than; nothing if there are none."""
    better = [{one.first, one.second} - {worse} for one in pairs if one.worse == worse]
    names = words.listed(sorted(set().union(*better), key=order.index))
    return f"{worse} is further off than {names}" if names else ""


def _unsure(pairs: Sequence[Difference], all_of_them: bool) -> str:
    """Say of which pairs it is not known which one is further off."""
    if len(pairs) == 1:
        return f"whether {pairs[0].first} or {pairs[0].second} is further off"
    rest = "any two" if all_of_them else f"the other {many(len(pairs), 'pair')}"
    return f"which of {rest} is further off"
