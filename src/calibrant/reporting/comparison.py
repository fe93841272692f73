"""The part of the page that compares models."""

from itertools import groupby
from typing import Any

from calibrant.inference import Comparison
from calibrant.words import capital, many, score_name


def comparison_parts(found: Comparison) -> dict[str, Any]:
    """Return scores, sizes, and for each lens what can be said of every two models."""
    score_header, score_rows = found.score_rows()
    header, rows = found.ranking()
    return {
        "score_header": [score_name(name) for name in score_header],
        "score_rows": score_rows,
        "header": header,
        "rows": rows,
        "paragraphs": _paragraphs(found),
    }


def _paragraphs(found: Comparison) -> list[str]:
    """Return one paragraph a lens: who is further off than whom."""
    by_lens = sorted(found.differences, key=lambda one: str(one.lens))
    paragraphs = []
    for _, group in groupby(by_lens, key=lambda one: str(one.lens)):
        pairs = list(group)
        subject = capital(pairs[0].verdicts[0].subject)
        told = [one.conclusion for one in pairs if one.worse is not None]
        open_pairs = len(pairs) - len(told)
        if open_pairs:
            rest = f"the other {many(open_pairs, 'pair')}" if told else "any two"
            told.append(f"the data do not tell which of {rest} is further off")
        paragraphs.append(f"{subject}: {'; '.join(told)}.")
    return paragraphs
