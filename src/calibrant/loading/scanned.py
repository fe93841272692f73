"""The entrance for data that stay where they are: a folder or a frame in, a `Scan` out."""

import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from calibrant.checks.doors import needs
from calibrant.checks.labels import Classes, class_names
from calibrant.checks.parameters import listed
from calibrant.loading import rules
from calibrant.loading.plain_files import one_sentence
from calibrant.loading.reading import Reading
from calibrant.loading.roles import Kind, Options, Roles, Values, find_roles, present
from calibrant.predictions import CONFIDENCES
from calibrant.rows import Columns, Fragment, Scan
from calibrant.rows.fragments import folder_keys, fragments_of, listed_files, open_parquet
from calibrant.rows.workers import as_workers

Types = Mapping[str, Any]  # name of a column → its Arrow type


def scan(
    path: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | Any,
    *,
    label: str | None = None,
    probs: str | Sequence[str] | None = None,
    classes: Sequence[Any] | None = None,
    weight: str | None = None,
    row: str | None = None,
    values: Values = "probabilities",
    engine: Any = None,
) -> Scan:
    r"""Use predictions that do not fit into memory: only file footers are read here.

    Functions take what this returns in place of `Predictions`, and give the same results to the
    last bit, whatever the files, the groups of rows in them, and who reads them.

    Parameters
    ----------
    path : str, path-like, list of them, or frame
        A Parquet file, a folder with such (also in folders inside it), a pattern such as
        ``"2026-*/part-*.parquet"``, an address such as ``"s3://bucket/predictions"``, or a list;
        or a frame of Dask or Spark.
        Rows are numbered by files sorted as text, groups of rows in their order.
    label, probs, classes, weight, values
        As in `load`. The columns of probabilities must be found by their names: ``prob_<class>``,
        a column of lists called probs, or one such as prob; or be named.
    row : str, optional
        Name of a column of unique whole numbers, by which labels are drawn instead of by the place
        of a row. Then files may be cut and sorted in any way.
    engine : optional
        Who reads: None for threads of this process; a Dask client or ``"dask://host:8786"``; a
        SparkSession or ``"spark://host:7077"``; any executor of ``concurrent.futures``.

    Returns
    -------
    Scan
        With ``n``, ``m``, ``classes``, and ``load()`` for `Predictions` in memory.

    Examples
    --------
    >>> import tempfile, pathlib, polars as pl
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> for part in range(3):
    ...     rows = {"label": [0, 2], "probs": [[0.7, 0.2, 0.1], [0.1, 0.3, 0.6]]}
    ...     pl.DataFrame(rows).write_parquet(folder / f"part-{part}.parquet")
    >>> data = scan(folder)
    >>> data
    Scan(n=6, m=3, classes=('0', '1', '2'), files=3, on=Threads())
    >>> data.load()
    Predictions(n=6, m=3, classes=('0', '1', '2'))
    """
    needs("reading in batches", "pyarrow", extra="scale")
    options = Options(label, probs, classes, weight, values)
    home = type(path).__module__.partition(".")[0]
    if home in ("dask", "pyspark", "dask_expr"):
        return _of_frame(path, home, options, row, engine)
    workers = as_workers(engine)
    files = listed_files(path)
    columns, fragments, types = _open(files, options, row)
    if not fragments:
        raise ValueError("`path` must hold at least one row; found none.")
    return Scan(columns, tuple(fragments), workers, _reading(columns, types))


def _of_frame(frame: Any, home: str, options: Options, row: str | None, engine: Any) -> Scan:
    """Look at a frame of Dask or Spark."""
    workers: Any
    fragments: tuple[Any, ...]
    if home == "pyspark":
        from calibrant.rows.workers.spark import SparkFrame, Whole, arrow_schema  # noqa: PLC0415

        types = _types(arrow_schema(frame))
    else:
        from calibrant.rows.workers.dask import open_dask  # noqa: PLC0415

        workers, fragments, schema = open_dask(frame, engine)
        types = _types(schema)

    def length(name: str) -> int:
        if home == "pyspark":
            return len(frame.select(name).first()[0])
        return len(frame[name].head(1, npartitions=-1).iloc[0])

    with one_sentence("`path`"):
        columns = _choose(types, options, row, length)
    if home == "pyspark":
        workers, fragments = SparkFrame(frame), (Whole(frame.count()),)
    if not fragments or not fragments[0].n:
        raise ValueError("`path` must hold at least one row; found none.")
    return Scan(columns, fragments, workers, _reading(columns, types))


def _open(
    files: Sequence[str], options: Options, row: str | None
) -> tuple[Columns, list[Fragment], Types]:
    """Read the footers of all files; the first one says which columns hold what."""
    first = open_parquet(files[0])
    types = _types(first.schema_arrow)
    with one_sentence(files[0]):
        columns = _choose(types, options, row, partial(_first_list, first))
    fragments: list[Fragment] = []
    others, start = [], 0
    for path in files:
        file = open_parquet(path)
        found = _types(file.schema_arrow)
        if any(found.get(name) != types[name] for name in columns.names):
            others.append(path.rsplit("/", 1)[-1])
        fragments += fragments_of(path, file, start)
        start += file.metadata.num_rows
    if others:
        raise ValueError(
            f"`path` must hold files of the same columns; {listed(others)}"
            f" {'has' if len(others) == 1 else 'have'} others than"
            f" {files[0].rsplit('/', 1)[-1]}, or of other types."
        )
    keys = [name for name in folder_keys(files[0]) if name not in types]
    return columns, fragments, {**types, **dict.fromkeys(keys)}


def _reading(columns: Columns, types: Types) -> Reading:
    """Say which columns were taken for what."""
    from pyarrow.types import is_nested  # noqa: PLC0415 (an extra)

    classes = columns.known.names
    left_out = tuple(name for name in types if name not in columns.names)
    return Reading(
        columns.label,
        columns.probs,
        classes[1] if len(classes) == 2 else None,
        columns.weight,
        id=columns.row,
        kept=columns.kept,
        left_out=left_out,
        nested=tuple(name for name in left_out if types[name] and is_nested(types[name])),
        lists=columns.lists,
        logits=columns.logits,
        normalize=columns.normalize,
        correct=classes == CONFIDENCES,
    )


def _types(schema: Any) -> Types:
    """Return the types of an Arrow schema by the names of columns."""
    return dict(zip(schema.names, schema.types, strict=True))


def _choose(
    types: Types, options: Options, row: str | None, length: Callable[[str], int]
) -> Columns:
    """Say which columns hold what, by the rules of `load`.

    `row` is the column of the rows' numbers, and `length` says how long the first list of a column
    is.
    """
    kinds = {name: _kind(found) for name, found in types.items()}
    if row is not None:
        (row,) = present("row", kinds, [row])
        if kinds[row] != "whole":
            raise TypeError(f"`row` must hold whole numbers; column {row!r} holds {types[row]}.")
    roles = find_roles({name: kind for name, kind in kinds.items() if name != row}, options)
    chosen = _by_names(kinds, options, roles, types)
    return Columns(
        roles.label,
        chosen.columns,
        chosen.lists,
        all(_bits(types[name]) <= 32 for name in chosen.columns),
        _classes(chosen, options, length, (kinds[roles.label], roles.correct)),
        roles.weight,
        row,
        options.logits,
        options.normalize,
        roles.kept,
    )


def _by_names(
    kinds: Mapping[str, Kind], options: Options, roles: Roles, types: Types
) -> rules.Chosen:
    """Choose the columns of probabilities by their names alone; they must hold numbers."""
    rest = {name: kind for name, kind in kinds.items() if name not in roles.taken}
    chosen = rules.by_name(kinds, options, roles.taken)
    chosen = chosen or rules.single(rest, options.logits, roles.correct)
    for name in chosen.columns:
        if kinds[name] in ("text", "other"):
            raise TypeError(f"column {name!r} must hold numbers; found {types[name]}.")
    if kinds[roles.label] != "text":
        rules.refuse_one_hot(roles.label, (), chosen, kinds)
    return chosen


def _classes(
    chosen: rules.Chosen, options: Options, length: Callable[[str], int], label: tuple[Kind, bool]
) -> Classes:
    """Return the classes; labels are not read for it.

    label : what they are, and whether they say which predictions are right
    """
    if chosen.lists:
        m = len(tuple(options.classes or ())) or length(chosen.columns[0])
        return chosen.several(m, options)
    if len(chosen.columns) > 1:
        return chosen.several(len(chosen.columns), options)
    if options.classes is not None:
        return Classes(class_names(options.classes, 2))
    return _two_classes(*label, named=bool(chosen.classes))


def _two_classes(kind: Kind, correct: bool, *, named: bool) -> Classes:
    """Return the classes of a single column that nobody named."""
    if kind == "text":
        raise ValueError(
            "`classes` must name class 0, then class 1, where labels are names and one column holds"
            " the probabilities of class 1."
        )
    if correct and not named:
        return Classes(CONFIDENCES, ("0", "1"))
    return Classes(class_names(("0", "1"), 2))


def _first_list(file: Any, name: str) -> int:
    """Return the length of the first list of a column."""
    kind = _types(file.schema_arrow)[name]
    if getattr(kind, "list_size", 0):
        return int(kind.list_size)
    batch = next(file.iter_batches(1, columns=[name]))
    return len(batch.column(name)[0].as_py() or ())


def _kind(kind: Any) -> Kind:
    """Return what a column of an Arrow type holds."""
    from pyarrow import types  # noqa: PLC0415

    if types.is_dictionary(kind):
        return _kind(kind.value_type)
    known: dict[Kind, tuple[Callable[[Any], bool], ...]] = {
        "list": (types.is_list, types.is_large_list, types.is_fixed_size_list),
        "whole": (types.is_boolean, types.is_integer),
        "float": (types.is_floating, types.is_decimal),
        "text": (types.is_string, types.is_large_string, types.is_string_view),
    }
    found = next(
        (name for name, tests in known.items() if any(is_one(kind) for is_one in tests)), None
    )
    if found == "list" and _kind(kind.value_type) not in ("whole", "float"):
        return "other"
    return found or "other"


def _bits(kind: Any) -> int:
    """Return the bits of floats, or of those in lists; of other numbers, 64."""
    from pyarrow import types  # noqa: PLC0415

    inner = getattr(kind, "value_type", kind)
    return int(inner.bit_width) if types.is_floating(inner) else 64
