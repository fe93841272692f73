"""What a verb takes: data, or probabilities and labels; objects, or their short names.

Lenses: ``canonical``, ``top``, ``top:3``, ``class:dog``, ``groups:0-2|3-5|6-9``, ``pooled``.
Partitions: ``width:10``, ``simplex:5``, ``mass:15``, ``tree:1000``, ``tree:1000:median``.
Distances: ``tv``, ``euclidean``, ``squared``.
Regions of the simplex: ``dog > 0.1 and max < 0.9``.
"""

import operator
import re
import textwrap
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import reduce, wraps
from inspect import signature
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar, cast, overload

from numpy.typing import ArrayLike

from calibrant import distances, lenses, partitions
from calibrant.checks.convert import column_names, columns_of, is_frame
from calibrant.checks.parameters import brief, function
from calibrant.distances import Distance
from calibrant.lenses import Lens
from calibrant.lenses.lens import check_lens
from calibrant.loading import from_frame, load_models
from calibrant.loading.roles import present
from calibrant.partitions import Partition
from calibrant.partitions.partition import check_partition
from calibrant.predictions import Predictions
from calibrant.rows import Memory, Rows, Scan

P = ParamSpec("P")
Data_contra = TypeVar("Data_contra", contravariant=True)
Probs_contra = TypeVar("Probs_contra", contravariant=True)
Result_co = TypeVar("Result_co", covariant=True)
Where = Callable[[Any], Any]  # from predictions (n, m) to which rows are kept

COLUMNS = (  # of `load`
    *("label", "probs", "classes", "weight", "values", "cluster", "keep"),
    *("percent", "decimal_comma", "drop_missing"),
)
OF_MODELS = ("model", "id", "ignore")  # of `load_models` besides
ALIKE = {"lens": "lenses", "lenses": "lens", "statistic": "statistics", "statistics": "statistic"}
ELSEWHERE = {  # settings that people look for in verbs that have none of this name
    "by": "Groups of rows are judged by `cal.slices(data, by=…)`",
    "model": "`cal.load_models(frame, model=…)` gives the models of a frame by their names, and"
    " `cal.compare(frame, model=…, id=…)` compares them",
}
INDENT = " " * 4  # of docstrings
KEPT = ("by", "columns")  # settings of verbs that name columns to be kept beside the predictions
LENSES = "canonical, top, top:3, class:NAME, groups:0-2|3-5|6-9 or pooled"
PARTITIONS = "width:10, simplex:5, mass:15, tree:1000 or tree:1000:median"
DISTANCES = "tv, euclidean or squared"

PLAIN_LENSES: dict[str, Callable[[], Lens]] = {
    "canonical": lenses.Canonical,
    "pooled": lenses.Pooled,
    "top": lenses.TopLabel,
}
BINS: dict[str, Callable[[int], Partition]] = {
    "width": partitions.EqualWidth,
    "simplex": partitions.SimplexBins,
    "mass": partitions.EqualMass,
}
NAMED_DISTANCES: dict[str, Distance] = {
    "tv": distances.total_variation,
    "total_variation": distances.total_variation,
    "euclidean": distances.euclidean,
    "squared": distances.squared_euclidean,
    "squared_euclidean": distances.squared_euclidean,
}

# A condition, up to the next one or the end. The name may hold anything, even "and" or ">".
CONDITION = re.compile(r"\s*(.+?)\s*(>=|<=|>|<)\s*([0-9.eE+-]+)(?:\s+and\s+(?=\S)|\s*$)")
OPERATORS = {">=": operator.ge, "<=": operator.le, ">": operator.gt, "<": operator.lt}


class Verb(Protocol[Data_contra, Probs_contra, P, Result_co]):
    """A function of data, or of probabilities and labels."""

    @overload
    def __call__(self, data: Data_contra, *args: P.args, **kwargs: P.kwargs) -> Result_co: ...

    @overload
    def __call__(
        self, probs: Probs_contra, labels: ArrayLike, *args: P.args, **kwargs: P.kwargs
    ) -> Result_co: ...


def takes_arrays(
    verb: Callable[Concatenate[Data_contra, P], Result_co],
) -> Verb[Data_contra, ArrayLike, P, Result_co]:
    """Let a function of Predictions also be called with probabilities and labels.

    ``verb(probs, labels, ...)`` and ``verb(probs, labels=labels, ...)`` are
    ``verb(Predictions(probs, labels), ...)``. More than that, such as names of classes or weights,
    needs `Predictions`. A data frame that holds labels, too, is read by the rules of files:
    ``verb(frame, label="y", ...)``, with the other options of `load` that say which column is what.

    Examples
    --------
    >>> takes_arrays(lambda data: data.n)([0.2, 0.9], [0, 1])
    2
    >>> import polars as pl
    >>> frame = pl.DataFrame({"prob_cat": [0.7, 0.2], "prob_dog": [0.3, 0.8], "y": ["cat", "dog"]})
    >>> takes_arrays(lambda data: data.classes)(frame, label="y")
    ('cat', 'dog')
    """
    return cast(Verb[Data_contra, ArrayLike, P, Result_co], _wrapped(verb, several=False))


def takes_models(
    verb: Callable[Concatenate[Data_contra, P], Result_co],
) -> Verb[Data_contra, ArrayLike | Mapping[str, ArrayLike], P, Result_co]:
    """Do so for a function of one or more models: probabilities by name, and labels of all.

    A long data frame has them, too: ``verb(frame, label="y", model="model", id="question")``, by
    the rules of `load_models`.
    """
    found = _wrapped(verb, several=True)
    return cast(Verb[Data_contra, ArrayLike | Mapping[str, ArrayLike], P, Result_co], found)


def _wrapped(verb: Callable[..., Any], *, several: bool) -> Callable[..., Any]:
    first, *others = signature(verb).parameters
    known = {*others, *(OF_MODELS if several else ())}

    @wraps(verb)
    def call(*given: Any, **settings: Any) -> Any:
        if first in settings:
            given = (settings.pop(first), *given)
        _refuse_others(verb.__name__, settings, known)
        if given and not isinstance(given[0], Predictions | Scan):
            given = _read(given, settings, [first, *others], known)
        return verb(*given, **settings)

    call.__doc__ = _with_keywords(verb.__doc__, several=several)
    return call


def _with_keywords(doc: str | None, *, several: bool) -> str | None:
    """Say in a docstring, before its parameters, what a data frame takes besides."""
    names = ", ".join(f"``{name}=``" for name in COLUMNS)
    takes = f"A data frame takes {names}, too, as cal.load explains them"
    if several:
        of_models = ", ".join(f"``{name}=``" for name in OF_MODELS)
        takes += f"; and {of_models}, as cal.load_models does"
    lines = textwrap.fill(f"{takes}.", 100, initial_indent=INDENT, subsequent_indent=INDENT)
    before, header, after = (doc or "").partition(f"{INDENT}Parameters\n")
    return f"{before}{lines}\n\n{header}{after}" if header else doc


def _read(
    given: Sequence[Any], settings: dict[str, Any], names: Sequence[str], known: Collection[str]
) -> tuple[Any, ...]:
    """Return positional arguments, of these names, whose first has become predictions."""
    data, *rest = given
    if _columns_follow(given, settings, names):
        settings[names[1]] = rest.pop(0)
    if "labels" in settings:
        data = _with_labels(data, settings.pop("labels"))
    elif rest and _are_labels(rest[0]):
        data = _with_labels(data, rest.pop(0))
    elif _of_frames(data):
        data = _from_frames(data, settings, known)
    elif "label" in settings and "label" not in known:
        raise TypeError(
            f"`label` must name a column of a data frame; found {type(data).__name__}. Collect a"
            " lazy frame before, or let `cal.scan` read the files."
        )
    return data, *rest


def _refuse_others(verb: str, settings: Mapping[str, Any], known: Collection[str]) -> None:
    """Refuse a setting that this verb has under another name, or that another verb has."""
    for name in settings:
        if name in known:
            continue
        if ALIKE.get(name) in known:
            raise TypeError(f"`{name}` must be called `{ALIKE[name]}` in `{verb}`.")
        if name in ELSEWHERE:
            raise TypeError(f"`{name}` is no argument of `{verb}`. {ELSEWHERE[name]}.")


def _are_labels(value: Any) -> bool:
    """Whether what follows the probabilities has a length, as labels have and settings have not."""
    return hasattr(value, "__len__") and not isinstance(value, str)


def _columns_follow(
    given: Sequence[Any], settings: Mapping[str, Any], names: Sequence[str]
) -> bool:
    """Whether columns follow a frame: its labels are told of, or these are names of columns."""
    if len(given) < 2 or not {*names[1:2]} & {*KEPT} or not _are_labels(given[1]):
        return False
    known = column_names(given[0])
    if known is None or "label" in settings:
        return known is not None
    return len(given[1]) != len(given[0]) and set(map(str, given[1])) <= set(known)


def _of_frames(data: Any) -> bool:
    """Whether these are data frames: one, or one for each model."""
    models = list(data.values()) if isinstance(data, Mapping) else [data]
    return bool(models) and all(is_frame(each) for each in models)


def _from_frames(data: Any, settings: dict[str, Any], known: Collection[str]) -> Any:
    """Return predictions by the rules of files; of several models, those of each by its name.

    What `settings` say of the columns is taken out of them. Columns that `by` or `columns` name are
    kept.
    """
    for name in KEPT:
        if _names_columns(settings.get(name)):
            _refuse_unknown(name, settings[name], data)
            settings.setdefault("keep", settings[name])
    columns = _taken(settings, COLUMNS)
    if isinstance(data, Mapping) or "model" in settings:
        paired = settings.get("paired", "paired" in known)
        return load_models(data, paired=paired, **columns, **_taken(settings, OF_MODELS))
    return from_frame(data, **columns)


def _refuse_unknown(name: str, asked: Any, data: Any) -> None:
    """Refuse names that no column of a frame has, or of a model's."""
    names = [asked] if isinstance(asked, str) else asked
    if not isinstance(names, list | tuple) or not all(isinstance(one, str) for one in names):
        return  # what is no list of names is refused by the verb
    for frame in data.values() if isinstance(data, Mapping) else [data]:
        present(name, list(map(str, column_names(frame) or ())), names)


def _taken(settings: dict[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """Take the settings of these names out of all."""
    return {name: settings.pop(name) for name in names if name in settings}


def _names_columns(by: Any) -> bool:
    """Whether a setting names columns, and does not hold them."""
    return by is not None and not isinstance(by, Mapping) and not columns_of(by)


def _with_labels(data: Any, labels: Any) -> Any:
    """Return predictions; of a mapping, those of each model by its name."""
    if isinstance(data, Mapping):
        return {name: Predictions(probs, labels) for name, probs in data.items()}
    return Predictions(data, labels)


def as_rows(data: Any) -> Rows:
    """Return the rows of data, wherever they are: the only place that asks what kind they are."""
    if isinstance(data, Scan | Memory):
        return data
    check_data(data)
    return Memory(data)


def check_data(data: Any, *, scans: bool = False) -> None:
    """Refuse anything but Predictions and, for functions that take `scans`, a Scan."""
    if isinstance(data, Scan):
        if not scans:
            raise TypeError(
                "`data` must be Predictions here: this needs all rows at once, and scanned ones"
                " come in batches. Use scan.load() if they fit into memory."
            )
    elif not isinstance(data, Predictions):
        raise TypeError(
            f"`data` must be Predictions; found {type(data).__name__}. Make them with"
            " Predictions(probs, labels), or hand over a data frame."
        )


def as_lens(lens: Any, data: Predictions | Scan) -> Lens:
    """Return a lens, or the one that a text names for these data."""
    if isinstance(lens, Lens):
        return lens
    if not isinstance(lens, str):
        check_lens(lens)
    if lens in PLAIN_LENSES:
        return PLAIN_LENSES[lens]()
    kind, colon, rest = lens.partition(":")
    if kind not in LENSES_OF or not colon:
        raise not_one("lens", lens, LENSES)
    return LENSES_OF[kind](rest, data)


def as_groups(name: str, text: str, data: Predictions | Scan) -> Lens:
    """Return the lens of groups such as ``0-2|3-5|6-9`` or ``cat,dog|car``."""
    groups = [_members(name, part, data) for part in text.split("|")]
    lens = lenses.Groups(groups)
    times = Counter(member for group in groups for member in group)
    wrong = [member for member in data.classes if times[member] != 1]
    if wrong:
        raise not_one(name, text, f"groups that have every class once; look at {_some(wrong)}")
    return lens


def as_partition(partition: Any) -> Partition:
    """Return a partition, or the one that a text names."""
    if not isinstance(partition, str):
        check_partition(partition)
        found: Partition = partition
        return found
    kind, *rest = partition.split(":")
    if kind in BINS and len(rest) == 1:
        return BINS[kind](whole("partition", partition, rest[0]))
    if kind == "tree" and len(rest) in (1, 2):
        split: Any = rest[1] if len(rest) == 2 else "mean"
        return partitions.VarianceTree(positive("partition", partition, rest[0]), split)
    raise not_one("partition", partition, PARTITIONS)


def as_distance(distance: Any) -> Distance:
    """Return a distance, or the one that a text names."""
    if isinstance(distance, str):
        if distance not in NAMED_DISTANCES:
            raise not_one("distance", distance, DISTANCES)
        return NAMED_DISTANCES[distance]
    function("distance", distance, "p", "q")
    found: Distance = distance
    return found


def as_region(text: str, data: Predictions | Scan) -> Where:
    """Return the mask function of conditions such as ``dog > 0.1 and max < 0.9``."""
    conditions: list[Where] = []
    start = 0
    while start < len(text) or not conditions:
        found = CONDITION.match(text, start)
        if found is None:
            raise not_one("region", text, 'conditions such as "dog > 0.1 and max < 0.9"')
        conditions.append(_condition(found, text, data))
        start = found.end()
    return lambda probs: reduce(operator.and_, (condition(probs) for condition in conditions))


def _condition(found: re.Match[str], text: str, data: Predictions | Scan) -> Where:
    name, sign, written = found.groups()
    try:
        limit = float(written)
    except ValueError:
        raise not_one("region", text, f"conditions with numbers, not {written!r}") from None
    compare = OPERATORS[sign]
    if name == "max" and "max" not in data.classes:
        return lambda probs: compare(probs.max(axis=1), limit)
    j = data.classes.index(named_class("region", name, data))
    return lambda probs: compare(probs[:, j], limit)


def named_class(name: str, word: str, data: Predictions | Scan) -> str:
    """Return the name of a class that is given by name, or by index."""
    if word in data.classes:
        return word
    if re.fullmatch(r"[0-9]{1,9}", word) and int(word) < data.m:
        return data.classes[int(word)]
    raise not_one(name, word, f"a class of the data: {_some(data.classes)}")


def whole(name: str, text: str, word: str) -> int:
    """Return the whole number that follows a colon."""
    if not re.fullmatch(r"[0-9]{1,9}", word) or int(word) < 1:
        raise not_one(name, text, "a whole number of at least 1 after the colon")
    return int(word)


def positive(name: str, text: str, word: str) -> float:
    """Return the positive number that follows a colon."""
    if not re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,9})?", word) or float(word) == 0:
        raise not_one(name, text, "a number above 0 after the colon")
    return float(word)


def not_one(name: str, found: str, wanted: str) -> ValueError:
    """Return the error of a text that names nothing."""
    return ValueError(f"`{name}` must be {wanted}; found {brief(found)}.")


def _members(name: str, part: str, data: Predictions | Scan) -> list[str]:
    """Return the classes of a group: names or indices, separated by commas, or a range 0-2."""
    members: list[str] = []
    for item in part.split(","):
        word = item.strip()
        span = re.fullmatch(r"(\d{1,9})-(\d{1,9})", word)
        if span is None or word in data.classes:
            members.append(named_class(name, word, data))
            continue
        first, last = int(span.group(1)), int(span.group(2))
        if not first <= last < data.m:
            raise not_one(name, word, f"a range of classes from 0 to {data.m - 1}")
        members += data.classes[first : last + 1]
    return members


def _some(names: Sequence[str]) -> str:
    """Write the first few names."""
    return ", ".join(names[:8]) + (", …" if len(names) > 8 else "")


LENSES_OF: dict[str, Callable[[str, Predictions | Scan], Lens]] = {  # what follows the colon
    "top": lambda word, _: lenses.TopK(whole("lens", f"top:{word}", word)),
    "class": lambda word, data: lenses.Marginal(named_class("lens", word, data)),
    "groups": lambda word, data: as_groups("lens", word, data),
}
