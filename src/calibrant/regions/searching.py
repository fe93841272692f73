"""The worst regions, with p-values and intervals that have paid for the search."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, TypedDict, Unpack

import numpy as np

from calibrant import engine
from calibrant.arguments import as_lens, check_data, takes_arrays
from calibrant.checks.parameters import Rng, brief, is_list, whole
from calibrant.cuts.columns import Column, LeftOut, cut_columns, distinct_values
from calibrant.inference.replicates.problem import Plan, Problem, Progress
from calibrant.inference.verdicts.groups import named_columns
from calibrant.lenses import Canonical, Lens, TopLabel
from calibrant.predictions import Predictions
from calibrant.regions.candidates import Candidates
from calibrant.regions.evidence import CLUSTERS as IN_CLUSTERS
from calibrant.regions.evidence import Evidence, Searchable, Searched, search_replicates
from calibrant.regions.findings import RegionFinding, critical, findings, interval
from calibrant.regions.leaks import check_columns
from calibrant.regions.measures import VARIANCE, Bias, Measure, Slope, as_measure
from calibrant.regions.result import CONFIDENCE, Price, Region, Regions
from calibrant.regions.rows import Aspect, CodedRows, Flips, Sampled, ScannedRows, Seen, seen_of
from calibrant.resampling import Exact
from calibrant.rows import Scan
from calibrant.words import CLUSTERS, NEEDED, many

CLASSES = "classes"  # the lens of every class against the rest


class RegionSize(TypedDict, total=False):
    """How large regions are: see `search`."""

    depth: int
    min_rows: int


@takes_arrays
def search(
    data: Predictions | Scan,
    columns: Mapping[str, Sequence[Any]] | Sequence[str] | str | Any = None,
    *,
    statistic: Measure | str = "bias",
    lens: Lens | str | None = None,
    n_resamples: int = 999,
    rng: Rng = 0,
    progress: Progress | None = None,
    **regions: Unpack[RegionSize],
) -> Regions:
    r"""Find the rows that are off: search thousands of regions, and adjust for the search.

    ``print`` has a sentence for each finding. A region has one or two conditions on columns and
    predictions, such as "age < 40 and site = B"; labels have no influence on them. For each,

    .. math:: z_g = (N_g - \sum p) / \sqrt{\sum p (1 - p)}

    compares how often the event occurred with what was predicted. The whole search is repeated on
    labels drawn from the predictions, so p-values are adjusted for all regions, exactly (step-down
    maximum of :math:`|z_g|`). The chance of any false finding is at most 5 %, even next to true
    ones.

    Parameters
    ----------
    data : Predictions or Scan
        Predictions and outcomes, without weights. With clusters, the signs of whole clusters are
        flipped instead, which holds approximately. Beyond 65,536 scanned rows, a sample of as many
        decides where columns are cut.
    columns : mapping of str to sequence of length n, data frame, or names, optional
        Columns that are known before the outcome; names refer to columns that `load` kept, or to
        scanned files. Default: all that were kept. Predictions, and the predicted class of more
        than two, are searched as well.
    statistic : {"bias", "slope"}, default "bias"
        "bias": how much too high predictions are. "slope": how much too extreme, whatever their
        mean; see `Slope`.
    lens : Lens, optional
        A lens of two outcomes, or "classes" for every class. Default: the event of two classes,
        else the top label.
    n_resamples, rng, progress
        As in `calibration_test`; at least 19 resamples.
    depth : {1, 2}, default 2
        How many conditions a region has at most.
    min_rows : int, default 40
        The fewest rows of a region.

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
    plan = Plan.of(data, Exact(), n_resamples, rng, progress, least=NEEDED)
    how = How(lens, as_measure(statistic), **regions)
    looked = look(data, columns, plan, how)
    found = search_replicates(looked.evidence, looked.rows, plan)
    limit = critical(found.largest)
    shown = [_region(one, found, looked.rows, limit) for one in findings(found, looked.rows)]
    return Regions(
        rows=tuple(shown),
        strongest=_region(RegionFinding(0, 0), found, looked.rows, limit),
        evidence=float(np.abs(found.evidence.z[0])),
        largest=found.largest,
        price=_price(found, data.n, how.min_rows, limit),
        left_out=tuple(looked.left_out),
        suspect=tuple(looked.suspect),
        settings=plan.settings(
            columns=list(dict.fromkeys(cut.name for cut in found.evidence.candidates.cuts[1:])),
            depth=how.depth,
            lens=CLASSES if lens == CLASSES else looked.problem.lens,
            min_rows=how.min_rows,
            statistic=how.measure,
        ),
    )


class How(NamedTuple):
    """How regions are searched."""

    lens: Lens | str | None = None
    measure: Measure = Bias()
    depth: int = 2
    min_rows: int = 40


class Looked(NamedTuple):
    """What is known before anything is drawn."""

    evidence: Evidence
    rows: Searchable
    problem: Problem
    left_out: list[LeftOut]
    suspect: list[str]


def look(data: Predictions | Scan, columns: Any, plan: Plan, how: How) -> Looked:
    """Look at all regions of rows."""
    if data.weighted:
        raise ValueError("`data` must have no weights here: regions are counted in rows.")
    whole("depth", how.depth, least=1, most=2)
    whole("min_rows", how.min_rows, least=1)
    data = _with_columns(data, columns)
    problem, event = _problem(data, how.lens, plan)
    _check_clusters(problem, how.measure)
    given = _columns(data, columns)
    events = _named(problem, event)
    aspect = Aspect(problem.redraw, events, _made(data, events, given))
    seen = _seen(problem, aspect, given)
    size = seen.confidence.size
    known, made = (distinct_values(each, size) for each in (seen.columns, seen.made))
    cut, left_out = cut_columns(known | made, made, whole=size == data.n)
    suspect = check_columns({k: known[k] for k in known if k not in dict(left_out)}, seen)
    rows = _rows(data, cut, aspect, problem)
    evidence = Evidence.of(Candidates.of(cut, how.depth), rows, how.measure, how.min_rows)
    _check_some(evidence, how.min_rows, rows.clusters is not None)
    return Looked(evidence, rows, problem, left_out, suspect)


def _check_clusters(problem: Problem, measure: Measure) -> None:
    if problem.clusters_worth is not None and isinstance(measure, Slope):
        raise ValueError("`statistic` must be bias where rows have clusters; found slope.")
    if not problem.tells:
        raise ValueError(f"`data` must have clusters worth at least {CLUSTERS} equal ones.")


def _rows(data: Any, cut: Sequence[Column], aspect: Aspect, problem: Problem) -> Searchable:
    """Return rows with their codes, or what gives rows elsewhere theirs."""
    if problem.rows.held:
        return _in_memory(cut, aspect, problem)
    return ScannedRows(data, replace(aspect, cuts=tuple(one.cut for one in cut)))


def _columns(data: Any, columns: Any) -> Mapping[str, Any]:
    """Return the columns that are searched, beside those that predictions make."""
    if isinstance(data, Scan):  # batches have them
        return dict.fromkeys(data.kept)
    return dict(data.columns) if columns is None else named_columns(data, columns, "columns")


def _with_columns(scan: Any, columns: Any) -> Any:
    """Return scanned rows with the columns that are searched beside them; others as they are."""
    if columns is None or not isinstance(scan, Scan):
        return scan
    if isinstance(columns, Mapping) or (not is_list(columns) and not isinstance(columns, str)):
        raise TypeError(
            "`columns` must be names of columns of the files where rows are scanned; found"
            f" {brief(columns)}."
        )
    return scan.keeping(columns)


def _problem(data: Predictions | Scan, lens: Any, plan: Plan) -> tuple[Problem, int | None]:
    """Return the problem, and the event that may occur in it; None for every class."""
    every = isinstance(lens, str) and lens == CLASSES
    if every and data.m > 2:
        return plan.look(data, Canonical()), None
    chosen = _one_lens(data, None if every else lens)
    problem = plan.look(data, chosen)
    if problem.view.event is None or not chosen.rowwise:
        raise ValueError(
            f"`lens` must show two outcomes of each row, or be {CLASSES!r}; {chosen} does not."
        )
    return problem, problem.view.event


def _one_lens(data: Predictions | Scan, lens: Any) -> Lens:
    """Return the lens that was chosen, or that of the event of two classes, or the top label."""
    default = Canonical() if data.m == 2 else TopLabel()
    return as_lens(default if lens is None else lens, data)


def _named(problem: Problem, event: int | None) -> tuple[tuple[str, int], ...]:
    """Return the events with what their probabilities are called."""
    classes = problem.view.classes
    if event is None:
        return tuple((f"P({name})", j) for j, name in enumerate(classes))
    of_top = problem.lens.subject == TopLabel().subject or problem.view.of_confidences
    of_top |= getattr(getattr(problem.rows, "reading", None), "correct", False)
    return ((CONFIDENCE if of_top else f"P({classes[event]})", event),)


def _made(data: Any, events: Sequence[Any], named: Mapping[str, Any]) -> dict[str, str]:
    """Return what predictions make columns of, by names that no other has."""
    single = len(events) == 1
    made = {"event": events[0][0]} if single else {"confidence": CONFIDENCE}
    if data.m > 2:
        made["class"] = "predicted class"
    return {what: name if name not in named else f"model's {name}" for what, name in made.items()}


def _seen(problem: Problem, aspect: Aspect, given: Mapping[str, Any]) -> Seen:
    """Return the rows by which columns are cut: all, or of rows elsewhere a sample."""
    if problem.rows.held:
        return seen_of(problem.view.batch, given, aspect)
    problem.rows.numbered()
    part = problem.rows.part(Sampled(aspect), problem.lens)
    found: tuple[Any, Seen] = problem.rows.fold([part])[0]
    return found[1]


def _in_memory(cut: Sequence[Column], aspect: Aspect, problem: Problem) -> CodedRows:
    """Return rows at hand with their codes."""
    events, n = aspect.events_in(problem.seen), problem.rows.n
    codes = np.stack([np.zeros(n, np.uint8), *(one.codes for one in cut)], axis=1)
    clusters, flips = problem.seen.clusters, None
    drawing = problem.draws.drawing if clusters is None else None
    if clusters is not None:
        key, unit = problem.redraw.key, Bias().unit(n)
        of_rows = engine.draws.row_keys(key, (0, int(clusters.max()) + 1))[clusters]
        off = [np.rint((one.occurred - one.probs) / unit).astype(np.int64) for one in events]
        flips = Flips(key, of_rows, [2 * each for each in off])
    return CodedRows(np.ascontiguousarray(codes), events, drawing, clusters, flips)


def _check_some(evidence: Evidence, fewest: int, clustered: bool) -> None:
    if not evidence.n.size:
        clusters = f" and {IN_CLUSTERS} clusters" if clustered else ""
        of = {"bias": "p (1 - p)", "slope": "p (1 - p) times the squared distance of log-odds"}
        raise ValueError(
            f"`data` must have a region of {fewest} rows or more{clusters} in which"
            f" {of[evidence.measure.name]} adds up to at least {VARIANCE:g}; found none."
        )


def _region(one: RegionFinding, found: Searched, rows: Searchable, limit: float) -> Region:
    """Return a region with all that is said about it."""
    g, evidence = one.place, found.evidence
    known, n = evidence.found.keep(g), int(evidence.n[g])
    predicted, norm = float(known.expected) / n, float(known.norm)
    at_hand = rows if isinstance(rows, CodedRows) else None
    return Region(
        conditions=evidence.candidates.text(g),
        subject=_subject(rows, int(evidence.event[g])),
        n=n,
        predicted=predicted,
        observed=predicted + float(known.excess) / n,
        pvalue=float(found.pvalues[g]),
        interval=interval(evidence, g, limit, rows.clusters is not None),
        by_chance=limit * float(known.spread) / norm,
        n_regions=evidence.n.size,
        n_resamples=found.largest.size,
        same=one.same,
        family=many(evidence.n.size, "region"),
        rows=at_hand and evidence.candidates.mask(g, at_hand.codes),
        extreme=-float(known.residual) / norm if isinstance(evidence.measure, Slope) else None,
    )


def _subject(rows: Searchable, event: int) -> str:
    """Return whose probability is looked at, where that is not plain."""
    name = rows.events[event][0]
    return name if name == CONFIDENCE or len(rows.events) > 1 else ""


def _price(found: Searched, n: int, fewest: int, limit: float) -> Price:
    """Return what a region of a tenth of the rows has to be off by."""
    known, size = found.evidence.found, found.evidence.n
    variance = float((known.spread**2 / known.norm * (size / known.norm)).mean())
    return Price.of(max(fewest, n // 10), limit, variance)
