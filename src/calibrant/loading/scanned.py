"""The entrance for data that stay where they are: a folder or a frame in, a `Scan` out."""

import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from calibrant.checks.labels import Classes, class_names
from calibrant.checks.parameters import listed
from calibrant.loading import rules
from calibrant.loading.column_store import Kind
from calibrant.loading.failures import one_sentence
from calibrant.loading.options import Options, Values
from calibrant.loading.reading import Reading
from calibrant.loading.roles import Roles, find_roles, present
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
    r"""Look at predictions that need not fit into memory: only footers are read here.

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
    _need_pyarrow()
    options = Options(label, probs, classes, weight, values)
    home = type(path).__module__.partition(".")[0]
    if home in ("dask", "pyspark", "dask_expr"):
        return _of_frame(path, home, options, row, engine)
    workers = as_workers(engine)
    files = listed_files(path)
    columns, fragments, names = _open(files, options, row)
    if not fragments:
        raise ValueError("`path` must hold at least one row; found none.")
    return Scan(columns, tuple(fragments), workers, reading_of(columns, names))


def _of_frame(frame: Any, home: str, options: Options, row: str | None, engine: Any) -> Scan:
    """Look at a frame of Dask or Spark."""
    workers: Any
    fragments: tuple[Any, ...]
    if home == "pyspark":
        from calibrant.rows.workers.spark import SparkFrame, Whole, arrow_schema  # noqa: PLC0415

        types = types_of(arrow_schema(frame))
        length = partial(_length_in_spark, frame)
    else:
        from calibrant.rows.workers.dask import open_dask  # noqa: PLC0415

        workers, fragments, schema = open_dask(frame, engine)
        types = types_of(schema)
        length = partial(_length_in_dask, frame)
    with one_sentence("`path`"):
        columns = choose(types, options, row, length)
    if home == "pyspark":
        workers, fragments = SparkFrame(frame), (Whole(frame.count()),)
    if not fragments or not fragments[0].n:
        raise ValueError("`path` must hold at least one row; found none.")
    return Scan(columns, fragments, workers, reading_of(columns, list(types)))


def _length_in_dask(frame: Any, name: str) -> int:
    return len(frame[name].head(1, npartitions=-1).iloc[0])


def _length_in_spark(frame: Any, name: str) -> int:
    return len(frame.select(name).first()[0])


def _need_pyarrow() -> None:
    try:
        import pyarrow  # noqa: F401, PLC0415
    except ImportError:
        raise ImportError(
            "`scan` needs pyarrow, which cannot be imported; install calibrant[scale]."
        ) from None


def _open(
    files: Sequence[str], options: Options, row: str | None
) -> tuple[Columns, list[Fragment], list[str]]:
    """Read the footers of all files; the first one says which columns hold what."""
    first = open_parquet(files[0])
    types = types_of(first.schema_arrow)
    with one_sentence(files[0]):
        columns = choose(types, options, row, partial(_first_list, first))
    fragments: list[Fragment] = []
    others, start = [], 0
    for path in files:
        file = open_parquet(path)
        found = types_of(file.schema_arrow)
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
    return columns, fragments, [*types, *keys]


def reading_of(columns: Columns, names: Sequence[str]) -> Reading:
    """Say which columns were taken for what."""
    classes = columns.known.names
    return Reading(
        columns.label,
        columns.probs,
        classes[1] if len(classes) == 2 else None,
        columns.weight,
        id=columns.row,
        kept=columns.kept,
        left_out=tuple(name for name in names if name not in columns.names),
        lists=columns.lists,
        logits=columns.logits,
        normalize=columns.normalize,
    )


def types_of(schema: Any) -> dict[str, Any]:
    """Return the types of an Arrow schema by the names of columns."""
    return dict(zip(schema.names, schema.types, strict=True))


def choose(types: Types, options: Options, row: str | None, length: Any) -> Columns:
    """Say which columns hold what, by the rules of `load`.

    Parameters
    ----------
    types : mapping
        Name of a column → its type.
    options : Options
        What the user says.
    row : str, optional
        Name of the column of the rows' numbers.
    length : function of the name of a column
        Returns how long its first list is.
    """
    kinds = {name: _kind(found) for name, found in types.items()}
    row = None if row is None else _row_column(row, types, kinds)
    roles = find_roles({name: kind for name, kind in kinds.items() if name != row}, options)
    chosen = _columns(kinds, options, roles)
    _check_numbers(chosen, types, kinds)
    known = _classes(chosen, options, length, types[roles.label])
    narrow = all(_bits(types[name]) <= 32 for name in chosen.columns)
    return Columns(
        roles.label,
        chosen.columns,
        chosen.lists,
        narrow,
        known,
        roles.weight,
        row,
        options.logits,
        options.normalize,
        roles.kept,
    )


def _check_numbers(chosen: rules.Chosen, types: Types, kinds: Mapping[str, Kind]) -> None:
    """Refuse probabilities that are no numbers."""
    for name in chosen.columns:
        if kinds[name] in ("text", "other"):
            raise TypeError(f"column {name!r} must hold numbers; found {types[name]}.")


def _row_column(row: str, types: Types, kinds: Mapping[str, Kind]) -> str:
    """Return the column of the rows' numbers as it is spelled."""
    (name,) = present("row", kinds, [row])
    if kinds[name] != "whole":
        raise TypeError(f"`row` must hold whole numbers; column {name!r} holds {types[name]}.")
    return name


def _columns(kinds: Mapping[str, Kind], options: Options, roles: Roles) -> rules.Chosen:
    if options.columns is not None:
        return rules.by_request(kinds, options.columns, options.logits)
    rest = {name: kind for name, kind in kinds.items() if name not in roles.taken}
    found = rules.by_prefix(rest, options.logits) or rules.by_list(rest, options.logits)
    return found or rules.single(rest, options.logits, roles.correct)


def _classes(chosen: rules.Chosen, options: Options, length: Any, label: Any) -> Classes:
    if chosen.lists:
        m = len(tuple(options.classes or ())) or length(chosen.columns[0])
        return options.name_classes(None, m, [f"entry {j}" for j in range(m)])
    if len(chosen.columns) > 1:
        columns = [f"column {name!r}" for name in chosen.columns]
        return options.name_classes(chosen.classes, len(columns), columns)
    return _two_classes(options, label)


def _two_classes(options: Options, label: Any) -> Classes:
    """Return the classes of a single column of probabilities, which are those of the second."""
    if options.classes is None and _kind(label) == "text":
        raise ValueError(
            "`classes` must name class 0, then class 1, where labels are names and one column holds"
            " the probabilities of class 1."
        )
    return Classes(class_names(options.classes or ("0", "1"), 2))


def _first_list(file: Any, name: str) -> int:
    """Return the length of the first list of a column."""
    kind = types_of(file.schema_arrow)[name]
    if getattr(kind, "list_size", 0):
        return int(kind.list_size)
    batch = next(file.iter_batches(1, columns=[name]))
    return len(batch.column(name)[0].as_py() or ())


def _kind(kind: Any) -> Kind:
    """Return what a column of an Arrow type holds."""
    from pyarrow import types  # noqa: PLC0415

    if types.is_dictionary(kind):
        return _kind(kind.value_type)
    if types.is_nested(kind):
        lists = types.is_list, types.is_large_list, types.is_fixed_size_list
        whole_or_float = _any(lists, kind) and _kind(kind.value_type) in ("whole", "float")
        return "list" if whole_or_float else "other"
    if _any((types.is_boolean, types.is_integer), kind):
        return "whole"
    if _any((types.is_floating, types.is_decimal), kind):
        return "float"
    texts = types.is_string, types.is_large_string, types.is_string_view
    return "text" if _any(texts, kind) else "other"


def _any(tests: Sequence[Callable[[Any], bool]], kind: Any) -> bool:
    """Whether a type is one of those that these functions know."""
    return any(is_one(kind) for is_one in tests)


def _bits(kind: Any) -> int:
    """Return the bits of floats, or of those in lists; of other numbers, 64."""
    from pyarrow import types  # noqa: PLC0415

    inner = getattr(kind, "value_type", kind)
    return int(inner.bit_width) if types.is_floating(inner) else 64
