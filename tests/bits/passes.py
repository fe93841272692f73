"""How often verbs read scanned rows: groups of rows of Parquet files that are read, per group."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from . import rows as given
from .places import Places, attempt, call, moving
from .settings import Setting

ROWS = (3, "float64", "no weights", "no clusters")
WEIGHTED = (3, "float32", "any weights", "no clusters")
READERS = ("iter_batches", "read_row_group", "read_row_groups", "read")

CALLS = {
    "test, width": Setting("test", "top", "expected, width 15, tv", "exact", *ROWS),
    "test, weights": Setting("test", "top", "expected, width 15, tv", "exact", *WEIGHTED),
    "test, mass": Setting("test", "top", "expected, mass 5, tv", "exact", *ROWS),
    "test, tree": Setting("test", "canonical", "expected, tree, tv", "exact", *ROWS),
    "test, counts": Setting("test", "top", "expected, width 15, tv", "counts", *ROWS),
    "test, omnibus": Setting("test", "top", "omnibus", "exact", *ROWS),
    "test, many bins": Setting(
        "test", "canonical", "expected, width 15, tv", "exact", 10, *ROWS[1:], "many bins"
    ),
    "estimate": Setting("estimate", "top", "expected, width 15, tv", "bootstrap", *ROWS),
    "estimate, bins kept": Setting(
        "estimate", "top", "expected, tree, tv", "bootstrap, bins kept", *ROWS
    ),
    **{
        verb: Setting(verb, "-", "-", "-", *ROWS)
        for verb in (
            "evaluate",
            "evaluate, grid",
            "evaluate, nested",
            "evaluate, lenses",
            "classwise, width 15",
            "binwise",
            "binwise, tree",
            "slices",
            "slices, canonical",
            "calibration function",
            "calibration function, tree",
            "reliability diagram",
        )
    },
}


@contextmanager
def counting() -> Iterator[list[int]]:
    """Note how many groups of rows are read."""
    import pyarrow.parquet as pq

    found: list[int] = []
    before = {name: getattr(pq.ParquetFile, name) for name in READERS}

    def noted(name: str) -> Any:
        def read(self: Any, *args: Any, **options: Any) -> Any:
            groups = options.get("row_groups")
            one = name == "read_row_group"
            found.append(1 if one else self.num_row_groups if groups is None else len(groups))
            return before[name](self, *args, **options)

        return read

    for name in READERS:
        setattr(pq.ParquetFile, name, noted(name))
    try:
        yield found
    finally:
        for name, reader in before.items():
            setattr(pq.ParquetFile, name, reader)


def passes() -> dict[str, float]:
    """Return how often each call reads the rows."""
    places = Places()
    try:
        found = {name: _passes(places, setting) for name, setting in CALLS.items()}
        with moving():
            found["test, width, moved"] = _passes(places, CALLS["test, width"])
    finally:
        places.close()
    return found


def _passes(places: Places, setting: Setting) -> float:
    import pyarrow.parquet as pq

    scan = places.scan(setting, given.rows_of(*setting[4:]), "parts")
    with counting() as read:
        attempt(call, setting, scan)
    folder = places.folder_of(setting, "parts")
    return sum(read) / sum(pq.ParquetFile(path).num_row_groups for path in folder.iterdir())
