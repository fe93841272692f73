"""What is recorded: settings in which every two choices come together at least once."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple

from .choices import (
    ABOUT_ONE,
    DISTANCES,
    INDEPENDENT,
    KINDS,
    LENSES,
    OF_TWO,
    ON_ROWS,
    PARTITIONS,
    RESAMPLERS,
    VERBS,
    two_outcomes,
)

FEW = 32  # outcomes; norms of more were once added up in another way, so they are apart


class Setting(NamedTuple):
    """One call, in words; "-" where a verb has no such choice."""

    verb: str
    lens: str
    statistic: str
    resampler: str
    outcomes: int
    dtype: str
    weights: str
    clusters: str
    size: str = "small"

    @property
    def name(self) -> str:
        """The setting on a line."""
        return " | ".join(map(str, self))

    @property
    def section(self) -> str:
        """Settings of many outcomes are recorded apart."""
        return "few outcomes" if self.outcomes <= FEW else "many outcomes"


ROWS = {
    "outcomes": [2, 3, 10, 32, 33, 200],
    "dtype": ["float32", "float64"],
    "weights": ["no weights", "any weights", "zero weights"],
    "clusters": ["no clusters", "clusters"],
}


class _Dice:
    """Numbers that are the same on every machine and in every version."""

    def __init__(self, seed: int) -> None:
        self.state = seed

    def pick(self, values: Sequence[Any]) -> Any:
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) % 2**64
        return values[(self.state >> 33) % len(values)]


def covering(
    factors: Mapping[str, Sequence[Any]], fits: Callable[[dict[str, Any]], bool], seed: int
) -> Iterator[dict[str, Any]]:
    """Yield choices in which every two that can come together do so, greedily.

    Two that were not met in 60 tries are left out. Where few choices fit, that may be too soon:
    another seed meets them.
    """
    dice = _Dice(seed)
    left = {
        ((a, x), (b, y)): 0
        for a, b in combinations(factors, 2)
        for x in factors[a]
        for y in factors[b]
    }
    while left:
        wanted = next(iter(left))
        tried = []
        for _ in range(60):
            chosen = {name: dice.pick(values) for name, values in factors.items()} | dict(wanted)
            if fits(chosen):
                covered = [pair for pair in combinations(chosen.items(), 2) if pair in left]
                tried.append((len(covered), len(tried), chosen, covered))
        if not tried:
            del left[wanted]
            continue
        _, _, chosen, covered = max(tried, key=lambda one: one[:2])
        for pair in covered:
            del left[pair]
        yield chosen


def _takes_rows(chosen: dict[str, Any]) -> bool:
    """Whether a resampler takes rows with clusters, or without."""
    if chosen["clusters"] == "clusters":
        return bool(chosen["resampler"].startswith(("exact", "wild", "bootstrap")))
    return not chosen["resampler"].startswith("wild")


def _flips_signs(chosen: dict[str, Any]) -> bool:
    return chosen["clusters"] == "clusters" and not chosen["resampler"].startswith("bootstrap")


def _fits_bins(chosen: dict[str, Any]) -> bool:
    """Whether choices for a statistic on bins fit together, by what is documented."""
    two = two_outcomes(chosen["lens"], chosen["outcomes"])
    squared = chosen["kind"] == "unbiased squared"
    if not _takes_rows(chosen) or (squared and _flips_signs(chosen)):
        return False
    if chosen["resampler"].startswith("counts"):
        plain = chosen["weights"] == "no weights" and not squared
        return plain and two and chosen["lens"] in ABOUT_ONE
    return two or chosen["partition"] != "mass 5"


def _fits_rows(chosen: dict[str, Any]) -> bool:
    """Whether choices for another statistic fit together."""
    statistic = chosen["statistic"]
    if not _takes_rows(chosen) or _flips_signs(chosen) or statistic == "score spherical":
        return False
    if statistic == "omnibus" and not chosen["resampler"].startswith("exact"):
        return False
    return two_outcomes(chosen["lens"], chosen["outcomes"]) or statistic not in OF_TWO


def _setting(chosen: dict[str, Any], statistic: str, size: str = "small") -> Setting:
    verb = "estimate" if chosen["resampler"].startswith("bootstrap") else "test"
    rows = [chosen[name] for name in ROWS]
    return Setting(verb, chosen["lens"], statistic, chosen["resampler"], *rows, size)


def on_bins() -> Iterator[Setting]:
    """Yield tests and estimates of statistics on bins."""
    factors = {
        "lens": list(LENSES),
        "kind": list(KINDS),
        "partition": list(PARTITIONS),
        "distance": list(DISTANCES),
        "resampler": list(RESAMPLERS),
        **ROWS,
    }
    for seed in range(2):
        for chosen in covering(factors, _fits_bins, seed):
            yield _setting(chosen, _binned(chosen))


def scannable() -> Iterator[Setting]:
    """Yield the same of what scans do: else most of their results would be refusals."""
    factors = {
        "lens": list(LENSES),
        "kind": ["expected", "worst"],
        "partition": [name for name in PARTITIONS if name != "tree of medians"],
        "distance": list(DISTANCES),
        "resampler": [
            name for name in RESAMPLERS if name.startswith(("exact", "counts", "bootstrap"))
        ],
        **ROWS,
        "clusters": ["no clusters"],
    }
    for seed in range(2):
        for chosen in covering(factors, _fits_scans, seed):
            yield _setting(chosen, _binned(chosen))


def movable() -> Iterator[Setting]:
    """Yield what rows of scanned files are moved for: totals of bins, redrawn labels."""
    factors = {
        "lens": [name for name in LENSES if name != "pooled"],
        "kind": ["expected", "worst"],
        "partition": [name for name in PARTITIONS if name not in ("width 1", "tree of medians")],
        "distance": [name for name in DISTANCES if name != "own"],
        "resampler": [name for name in RESAMPLERS if name.startswith("exact")],
        **ROWS,
        "weights": ["no weights"],
        "clusters": ["no clusters"],
    }
    for chosen in covering(factors, _fits_bins, 2):
        yield _setting(chosen, _binned(chosen))


def _fits_scans(chosen: dict[str, Any]) -> bool:
    """Whether scans take the choices, by what is documented."""
    again = chosen["resampler"].startswith("bootstrap")
    looks = chosen["partition"] in ("mass 5", "tree")
    if again and (chosen["distance"] == "own" or looks > (chosen["resampler"] != "bootstrap")):
        return False
    if chosen["lens"] == "pooled" and (again or chosen["weights"] != "no weights"):
        return False
    return _fits_bins(chosen)


def _binned(chosen: dict[str, Any]) -> str:
    return ", ".join(chosen[part] for part in ("kind", "partition", "distance"))


def on_rows() -> Iterator[Setting]:
    """Yield tests and estimates of all other statistics."""
    factors = {
        "lens": list(LENSES),
        "statistic": list(ON_ROWS),
        "resampler": [name for name in RESAMPLERS if not name.startswith(("wild", "counts"))],
        **ROWS,
    }
    for chosen in covering(factors, _fits_rows, 0):
        pairs = chosen["lens"] == "pooled" and chosen["statistic"].startswith("kernel")
        if not (pairs and chosen["outcomes"] > 10):  # that would take a minute
            yield _setting(chosen, chosen["statistic"])


def of_verbs() -> Iterator[Setting]:
    """Yield calls of the other verbs."""
    for chosen in covering({"verb": list(VERBS), **ROWS}, _fits_verb, 0):
        rows = [chosen[name] for name in ROWS]
        yield Setting(chosen["verb"], "-", "-", "-", *rows)


def _fits_verb(chosen: dict[str, Any]) -> bool:
    """Whether a verb takes the rows, by what is documented, and soon enough."""
    if chosen["verb"].startswith(INDEPENDENT) and chosen["clusters"] == "clusters":
        return False
    most = {"recalibrate, beta": 2, "recalibrate, matrices": 10, "recalibrate, vector": 33}
    return bool(chosen["outcomes"] <= most.get(chosen["verb"], 200))


def refused() -> Iterator[Setting]:
    """Yield what places refuse, or once did: each choice alone beside plain ones."""
    plain = {"outcomes": 3, "dtype": "float64", "weights": "no weights", "clusters": "no clusters"}
    eta = "expected, width 3, tv"
    for lens in LENSES:
        yield _setting({"lens": lens, "resampler": "exact", **plain}, eta)
        yield _setting({"lens": lens, "resampler": "counts", **plain}, eta)
        weighted = plain | {"weights": "any weights"}
        yield _setting({"lens": lens, "resampler": "bootstrap", **weighted}, eta)
    for name in ON_ROWS:
        yield _setting({"lens": "top", "resampler": "exact", **plain}, name)
    for kind in KINDS:
        for partition in PARTITIONS:
            statistic = f"{kind}, {partition}, own"
            yield _setting({"lens": "top", "resampler": "exact", **plain}, statistic)
    for resampler in RESAMPLERS:
        yield _setting({"lens": "top", "resampler": resampler, **plain}, eta)
    for weights in ROWS["weights"]:
        rows = plain | {"weights": weights, "clusters": "clusters"}
        yield _setting({"lens": "canonical", "resampler": "exact", **rows}, eta)


def large() -> Iterator[Setting]:
    """Yield settings of many rows, which threads share, and of bins whose rows are moved."""
    plain = {"dtype": "float32", "weights": "no weights", "clusters": "no clusters"}
    for lens in ("canonical", "top", "class", "groups"):
        for partition, resampler, weights in (
            ("width 15", "exact", "no weights"),
            ("width 15", "bootstrap", "any weights"),
            ("tree", "exact", "any weights"),
            ("tree", "bootstrap, bins kept", "no weights"),
        ):
            rows = plain | {"outcomes": 10, "weights": weights}
            chosen = {"lens": lens, "resampler": resampler, **rows}
            yield _setting(chosen, f"expected, {partition}, tv", "large")
    for statistic in ("kernel 0.1", "log", "kolmogorov", "unbiased squared, tree, tv"):
        chosen = {"lens": "top", "resampler": "exact", "outcomes": 10, **plain}
        yield _setting(chosen, statistic, "large")
    for verb in ("evaluate, grid", "classwise, width 15", "binwise, top", "scores"):
        yield Setting(verb, "-", "-", "-", 10, *list(plain.values()), "large")
    for outcomes, dtype in ((10, "float32"), (10, "float64"), (32, "float32"), (200, "float32")):
        rows = plain | {"outcomes": outcomes, "dtype": dtype}
        for lens, statistic in (
            ("canonical", "expected, width 15, tv"),
            ("canonical", "worst, simplex 8, euclidean"),
            ("groups", "expected, width 15, squared"),
        ):
            yield _setting({"lens": lens, "resampler": "exact", **rows}, statistic, "many bins")


def on_clusters() -> Iterator[Setting]:
    """Yield the few settings that are also run on clusters, where one is started."""
    rows = {"outcomes": 10, "dtype": "float32", "clusters": "no clusters"}
    for lens in ("canonical", "top"):
        for weights in ("no weights", "any weights"):
            for partition, resampler in (
                ("width 15", "exact"),
                ("width 15", "bootstrap"),
                ("tree", "exact"),
                ("mass 5", "bootstrap, bins kept"),
            ):
                chosen = {"lens": lens, "resampler": resampler, **rows, "weights": weights}
                if lens == "top" or partition != "mass 5":
                    yield _setting(chosen, f"expected, {partition}, tv")
    plain = rows | {"weights": "no weights"}
    chosen = {"lens": "top", "resampler": "counts", **plain}
    yield _setting(chosen, "expected, width 15, tv")
    chosen = {"lens": "canonical", "resampler": "exact", **plain}
    yield _setting(chosen, "expected, width 15, tv", "many bins")
    for verb in ("evaluate, grid", "classwise, width 15", "binwise, top", "slices"):
        yield Setting(verb, "-", "-", "-", 10, "float32", "no weights", "no clusters")


def settings() -> list[Setting]:
    """Return all settings, each once."""
    parts = (
        on_bins(),
        scannable(),
        movable(),
        on_rows(),
        of_verbs(),
        refused(),
        large(),
        on_clusters(),
    )
    return list(dict.fromkeys(one for part in parts for one in part))
