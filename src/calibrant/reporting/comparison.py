"""The part of the page that compares models: one ranked table, and one paragraph a lens."""

from collections.abc import Sequence
from typing import Any

from calibrant.inference import Comparison, Difference
from calibrant.lenses import Canonical, Lens
from calibrant.words import capital, decimal, listed, many, score_name

SIZES = ("off by", "adjusted p")  # columns of each lens


def comparison_parts(found: Comparison, main: Lens) -> dict[str, Any]:
    """Return the table of models, the furthest off first, and what can be said of every two.

    main : the lens that decides the order
    """
    subjects = _subjects(found)
    lenses = sorted(subjects, key=lambda lens: lens != main)
    order = _ranked(found, lenses[0])
    scores = list(next(iter(found.scores.values())))
    groups = [("", 1), *((_short(lens, subjects[lens]), len(SIZES)) for lens in lenses)]
    return {
        "header": ["model", *SIZES * len(lenses), *(_kind(score) for score in scores)],
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


def _kind(score: str) -> str:
    """Name a score in the group of scores."""
    return score_name(score).removesuffix(" score")


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
    return [*cells, *map(decimal, found.scores[name].values())]


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
    names = listed(sorted(set().union(*better), key=order.index))
    return f"{worse} is further off than {names}" if names else ""


def _unsure(pairs: Sequence[Difference], all_of_them: bool) -> str:
    """Say of which pairs it is not known which one is further off."""
    if len(pairs) == 1:
        return f"whether {pairs[0].first} or {pairs[0].second} is further off"
    rest = "any two" if all_of_them else f"the other {many(len(pairs), 'pair')}"
    return f"which of {rest} is further off"
