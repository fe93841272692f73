"""The columns beside the probabilities: labels, weights, models and the names of rows."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import final

from calibrant.checks.parameters import listed
from calibrant.loading import usual_names as usual
from calibrant.loading.column_store import Kind, repeated
from calibrant.loading.options import Options


@final
@dataclass(frozen=True, slots=True)
class Roles:
    """Which column holds what, beside the probabilities.

    Parameters
    ----------
    label : str
        The labels.
    weight : str, optional
        The weights.
    model, id, cluster : str, optional
        The columns that name the model, the case and the cluster of a row, where the user says so.
    kept : tuple of str
        Columns that are kept beside the predictions.
    suspects : tuple of str
        Columns that are called as if they did.
    """

    label: str
    weight: str | None
    model: str | None
    id: str | None
    cluster: str | None
    kept: tuple[str, ...]
    suspects: tuple[str, ...]

    @property
    def beside(self) -> tuple[str, ...]:
        """The columns that the user says more about rows with."""
        named = (self.model, self.id, self.cluster)
        return (*(name for name in named if name is not None), *self.kept)

    @property
    def correct(self) -> bool:
        """Whether the labels say that predictions are right."""
        return self.label.lower() in usual.CORRECT

    @property
    def taken(self) -> tuple[str, ...]:
        """Return all of these columns."""
        weight = () if self.weight is None else (self.weight,)
        return (self.label, *weight, *self.beside, *self.suspects)


def find_roles(kinds: Mapping[str, Kind], options: Options) -> Roles:
    """Return the columns that the user names, and those with usual names."""
    kept = present("keep", kinds, options.keep)
    label = _label(kinds, options, kept)
    asked = {role: _asked(kinds, options, role) for role in ("model", "id", "cluster")}
    probs = () if options.columns is None else present("probs", kinds, options.columns)
    taken = {label, *asked.values(), *kept, *probs}
    free = [name for name in kinds if name not in taken]
    suspects = (*_suspects(kinds, free, options, "model"), *_suspects(kinds, free, options, "id"))
    weight = _weight(kinds, free, options)
    return Roles(label, weight, **asked, kept=kept, suspects=suspects)


def _asked(kinds: Mapping[str, Kind], options: Options, role: str) -> str | None:
    """Return the column that the user names for a role."""
    name = getattr(options, role)
    return None if name is None else present(role, kinds, [name])[0]


def _suspects(
    kinds: Mapping[str, Kind], free: Sequence[str], options: Options, role: str
) -> tuple[str, ...]:
    """Return columns that are called as if they had a role that the user did not speak of."""
    if getattr(options, role) is not None:
        return ()
    names = usual.MODELS if role == "model" else usual.IDS
    return tuple(n for n in free if n.lower() in names and kinds[n] in ("whole", "text"))


def present(option: str, names: Collection[str], asked: Sequence[str]) -> tuple[str, ...]:
    """Return the names asked for as the columns spell them, or refuse those that are missing."""
    columns = _spelled(names, asked)
    missing = [name for name, column in zip(asked, columns, strict=True) if column is None]
    if missing:
        raise ValueError(
            f"`{option}` must name columns; {listed(missing)} not among {listed(names, 12)}."
        )
    found = tuple(map(str, columns))
    twice = repeated(found)
    if twice:
        raise ValueError(f"`{option}` must name different columns; found {listed(twice)} twice.")
    return found


def _spelled(names: Collection[str], asked: Sequence[str]) -> list[str | None]:
    """Return names as the columns spell them; None where there is none."""
    known = {name.strip().lower(): name for name in reversed(list(names))}
    exact = set(names)
    return [name if name in exact else known.get(name.strip().lower()) for name in asked]


def _label(kinds: Mapping[str, Kind], options: Options, kept: Sequence[str]) -> str:
    """Return the column of labels: the one asked for, or the only one with a usual name."""
    if options.label is not None:
        return present("label", kinds, [options.label])[0]
    found = _usual_labels({name: kind for name, kind in kinds.items() if name not in kept})
    if len(found) == 1:
        return found[0]
    if found:
        raise ValueError(
            f"one column must hold the labels; {listed(found)} could each be it. Choose with"
            " `label`."
        )
    raise ValueError(
        f"one column must hold the labels, and be called {', '.join(usual.LABELS[:7])} or"
        f" correct; found {listed(kinds, 12)}. Name it with `label`."
    )


def _usual_labels(kinds: Mapping[str, Kind]) -> list[str]:
    """Return columns that are called as labels usually are, or as what tells who is right."""
    found = [name for name in kinds if name.lower() in usual.LABELS]
    right = [name for name in kinds if name.lower() in usual.CORRECT]
    return right if right and (not found or _of_predictions(kinds)) else found


def _of_predictions(kinds: Mapping[str, Kind]) -> bool:
    """Whether there is a confidence in a prediction, and no probabilities of the classes."""
    if "list" in kinds.values() or sum(n.lower().startswith(usual.PREFIXES) for n in kinds) > 1:
        return False
    return any(name.lower() in usual.CONFIDENCES for name in kinds)


def _weight(kinds: Mapping[str, Kind], free: Sequence[str], options: Options) -> str | None:
    """Return the column of weights: the one asked for, or the only one with a usual name."""
    if options.weight is not None:
        return present("weight", kinds, [options.weight])[0]
    found = [n for n in free if n.lower() in usual.WEIGHTS and kinds[n] in ("whole", "float")]
    if len(found) > 1:
        raise ValueError(
            f"one column may hold weights; {listed(found)} could each be it. Choose with `weight`,"
            " or set the others aside with `keep=…`."
        )
    return found[0] if found else None
