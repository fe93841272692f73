"""The worst regions, with p-values and intervals that have paid for the search."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from calibrant.arguments import as_lens, as_rows, check_data, takes_arrays
from calibrant.checks.parameters import Rng, whole
from calibrant.inference.replicates.problem import Plan, Problem, Progress
from calibrant.inference.verdicts.groups import named_columns
from calibrant.lenses import Canonical, Lens, TopLabel
from calibrant.predictions import Predictions
from calibrant.regions.candidates import Candidates
from calibrant.cuts.columns import Column, LeftOut, cut_columns, distinct_values
from calibrant.regions.evidence import VARIANCE, Event, Evidence, Rows, Searched, search_replicates
from calibrant.regions.findings import Finding, critical, findings, interval
from calibrant.regions.leaks import check_columns
from calibrant.regions.result import CONFIDENCE, Price, Region, Regions
from calibrant.resampling import Exact
from calibrant.rows import Scan
from calibrant.words import CLUSTERS, NEEDED, many

CLASSES = "classes"  # the lens of every class against the rest


@takes_arrays
def search(
    data: Predictions | Scan,
    columns: Mapping[str, Sequence[Any]] | Sequence[str] | str | Any = None,
    *,
    depth: int = 2,
    lens: Lens | str | None = None,
    min_rows: int = 40,
    n_resamples: int = 999,
    rng: Rng = 0,
    progress: Progress | None = None,
) -> Regions:
    r"""Search regions of rows for miscalibration, and pay for the search.

    Regions are made of columns and predictions alone: an interval of numbers or a level, or two
    thresholds or levels of two columns. For each,

    .. math:: z_g = (N_g - \sum p) / \sqrt{\sum p (1 - p)}

    compares how often the event occurred with what was predicted. Labels are drawn from the
    predictions and the whole search is repeated in every replicate, so the p-values of the
    step-down maximum of :math:`|z_g|` are adjusted for all regions, exactly. The chance of any
    false finding is at most 5 %, also beside true ones.

    Parameters
    ----------
    data : Predictions
        Predictions and outcomes, without weights. Of rows in clusters the signs of the clusters are
        flipped, which holds approximately; scanned rows are refused.
    columns : mapping of str to sequence of length n, data frame, or names, optional
        Columns that are known before the outcome; names are of columns that `load` kept beside the
        data. Default: all of these. Predictions, and the predicted class of several, are searched
        as columns, too.
    depth : {1, 2}, default 2
        How many conditions a region has at most.
    lens : Lens, optional
        A lens of two outcomes, or "classes" for every class. Default: the event of two classes,
        else the top label.
    min_rows : int, default 40
        The fewest rows of a region.
    n_resamples, rng, progress
        As in `calibration_test`; at least 19 resamples.

    Returns
    -------
    Regions
        A sequence of findings, the strongest first. Rejected regions that one finding explains are
        not repeated.

    Examples
    --------
    >>> p = np.linspace(0.1, 0.9, 2000)
    >>> site = np.array(["A", "B"])[np.arange(2000) // 7 % 2]
    >>> age = np.arange(2000) * 37 % 61 + 20
    >>> off = 0.2 * ((site == "B") & (age < 40))
    >>> labels = np.arange(2000) * 0.618 % 1 < p - off
    >>> found = search(Predictions(p, labels), {"age": age, "site": site}, n_resamples=199)
    >>> found[0].conditions
    'age < 43 and site = B'
    """
    check_data(data, scans=True)
    given = as_rows(data).at_hand("`search`").given
    plan = Plan.of(given, Exact(), n_resamples, rng, progress, least=NEEDED)
    looked = look(given, columns, plan, (lens, depth, min_rows))
    found = search_replicates(looked.evidence, looked.rows, looked.problem, plan)
    limit = critical(found.largest)
    told = [_region(one, found, looked.rows, limit) for one in findings(found, looked.rows)]
    return Regions(
        rows=tuple(told),
        strongest=_region(Finding(0, 0), found, looked.rows, limit),
        evidence=float(np.abs(found.evidence.z[0])),
        largest=found.largest,
        price=_price(found, given.n, min_rows, limit),
        left_out=tuple(looked.left_out),
        suspect=tuple(looked.suspect),
        settings=plan.settings(
            columns=list(dict.fromkeys(cut.name for cut in found.evidence.candidates.cuts[1:])),
            depth=depth,
            lens=CLASSES if lens == CLASSES else looked.problem.lens,
            min_rows=min_rows,
        ),
    )


class Looked(NamedTuple):
    """What is known before anything is drawn."""

    evidence: Evidence
    rows: Rows
    problem: Problem
    left_out: list[LeftOut]
    suspect: list[str]


def look(data: Predictions, columns: Any, plan: Plan, how: tuple[Any, int, int]) -> Looked:
    """Look at all regions of rows; how : lens, depth and fewest rows."""
    lens, depth, min_rows = how
    if data.weighted:
        raise ValueError("`data` must have no weights here: regions are counted in rows.")
    whole("depth", depth, least=1, most=2)
    whole("min_rows", min_rows, least=1)
    problem, events = _events(data, lens, plan)
    if not problem.tells:
        raise ValueError(f"`data` must have clusters worth at least {CLUSTERS} equal ones.")
    kept = dict(data.columns)
    named = kept if columns is None else named_columns(data, columns, "columns")
    known = distinct_values(named, data.n)
    made = distinct_values(_predictions(data, events, named), data.n)
    cut, left_out = cut_columns(known | made, made)
    used = {name: known[name] for name in known if name not in dict(left_out)}
    suspect = check_columns(used, data, [data.labels, *_occurred(data, events)])
    rows = Rows(_codes(cut, data.n), events, problem.seen.clusters)
    evidence = Evidence.of(Candidates.of(cut, depth), rows, min_rows)
    _check_some(evidence, min_rows)
    return Looked(evidence, rows, problem, left_out, suspect)


def _events(data: Predictions, lens: Any, plan: Plan) -> tuple[Problem, list[Event]]:
    """Return the problem, and what may occur in it: one event, or every class."""
    if isinstance(lens, str) and lens == CLASSES:
        problem = plan.look(data, Canonical())
        return problem, [_event(problem, j, f"P({name})") for j, name in enumerate(data.classes)]
    chosen = as_lens((Canonical() if data.m == 2 else TopLabel()) if lens is None else lens, data)
    problem = plan.look(data, chosen)
    event = problem.seen.event
    if event is None or not chosen.rowwise:
        raise ValueError(
            f"`lens` must show two outcomes of each row, or be {CLASSES!r}; {chosen} does not."
        )
    return problem, [_event(problem, event, _name(problem, event))]


def _name(problem: Problem, event: int) -> str:
    """Return what the probability of an event is called."""
    if problem.lens.subject == TopLabel().subject or problem.seen.of_confidences:
        return CONFIDENCE
    return f"P({problem.seen.classes[event]})"


def _event(problem: Problem, outcome: int, name: str) -> Event:
    seen = problem.seen
    probs = seen.probs[:, outcome].astype(np.float64)
    return Event(name, probs, seen.labels == outcome, outcome)


def _occurred(data: Predictions, events: Sequence[Event]) -> list[Any]:
    """Return outcomes beside the classes: whether the event occurred, if there is one of many."""
    return [events[0].occurred.astype(np.int32)] if data.m > 2 and len(events) == 1 else []


def _predictions(
    data: Predictions, events: Sequence[Event], named: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the columns that predictions make, by names that no other has."""
    made: dict[str, Any] = {}
    if len(events) == 1:
        made[events[0].name] = events[0].probs
    else:
        made[CONFIDENCE] = np.asarray(data.top.probs, float)
    if data.m > 2:
        made["predicted class"] = np.array(data.classes)[data.top.classes]
    return {name if name not in named else f"model's {name}": made[name] for name in made}


def _codes(columns: Sequence[Column], n: int) -> Any:
    """Return the codes of all columns, behind one of zeros: (n, columns)."""
    nothing = np.zeros(n, np.uint8)
    return np.ascontiguousarray(np.stack([nothing, *(one.codes for one in columns)], axis=1))


def _check_some(evidence: Evidence, fewest: int) -> None:
    if not evidence.n.size:
        raise ValueError(
            f"`data` must have a region of {fewest} rows or more in which p (1 - p) adds up to at"
            f" least {VARIANCE:g}; found none."
        )


def _region(one: Finding, found: Searched, rows: Rows, limit: float) -> Region:
    """Return a region with all that is said about it."""
    g, evidence = one.place, found.evidence
    n = int(evidence.n[g])
    predicted = float(evidence.expected[g]) / n
    return Region(
        conditions=evidence.candidates.told(g),
        subject=_subject(rows, int(evidence.event[g])),
        n=n,
        predicted=predicted,
        observed=predicted + float(evidence.residual[g]) / n,
        pvalue=float(found.pvalues[g]),
        interval=interval(evidence, g, limit, rows.clusters is not None),
        by_chance=limit * float(evidence.spread[g]) / n,
        n_regions=evidence.n.size,
        n_resamples=found.largest.size,
        same=one.same,
        family=many(evidence.n.size, "region"),
        mask=evidence.candidates.mask(g, rows.codes),
    )


def _subject(rows: Rows, event: int) -> str:
    """Return whose probability is looked at, where that is not plain."""
    name = rows.events[event].name
    return name if name == CONFIDENCE or len(rows.events) > 1 else ""


def _price(found: Searched, n: int, fewest: int, limit: float) -> Price:
    """Return what a region of a tenth of the rows has to be off by."""
    evidence = found.evidence
    variance = float((evidence.spread**2 / evidence.n).mean())
    return Price.of(max(fewest, n // 10), limit, variance)
