"""Gates for scripts: what a verdict must meet, and why it does not."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, final

import typer

if TYPE_CHECKING:
    from calibrant import Predictions, Scan
    from calibrant.inference import Verdict

FailBelow = Annotated[
    float | None,
    typer.Option(min=0.0, max=1.0, help="Exit with code 3 if p is below this, for use in CI."),
]
FailAbove = Annotated[
    float | None,
    typer.Option(min=0.0, max=1.0, help="Exit with code 3 if shown to be off by more than this."),
]
RequireBelow = Annotated[
    float | None,
    typer.Option(min=0.0, max=1.0, help="Exit with code 3 unless shown to be off by less."),
]


@final
@dataclass(frozen=True, slots=True)
class Gates:
    """Limits of a verdict; None for those that were not set."""

    fail_below: float | None  # of the p-value
    fail_above: float | None  # of the lower end of the interval of the size
    require_below: float | None  # of its upper end

    def check(self, resamples: int) -> None:
        """Refuse a limit that no p-value can be below: the smallest one is 1 / (resamples + 1)."""
        limit = self.fail_below
        if limit is None or 1.0 / (resamples + 1) < limit:
            return
        if limit == 0.0:
            raise typer.BadParameter(
                "must be greater than 0: no p-value is below 0.", param_hint="--fail-below"
            )
        needed = int(1.0 / limit)  # up to rounding, which the loop settles
        while 1.0 / (needed + 1) >= limit:
            needed += 1
        raise typer.BadParameter(
            f"{limit:g} needs at least {needed} resamples:"
            f" with {resamples} no p-value is below {limit:g}.",
            param_hint="--fail-below",
        )

    def check_rows(self, data: "Predictions | Scan") -> None:
        """Refuse limits of the size for rows that are read in batches, of which it is not known."""
        if hasattr(data, "fragments"):
            for option in ("fail_above", "require_below"):
                if getattr(self, option) is not None:
                    raise typer.BadParameter(
                        "needs all rows at once; those of folders are read in batches.",
                        param_hint=f"--{option.replace('_', '-')}",
                    )

    def failures(self, verdict: "Verdict") -> list[str]:
        """Say why gates are closed."""
        found = (
            _too_sure(verdict, self.fail_below),
            _too_far(verdict, self.fail_above),
            _not_shown(verdict, self.require_below),
        )
        return [why for why in found if why]


def _too_sure(verdict: "Verdict", limit: float | None) -> str:
    if limit is None or verdict.pvalue >= limit:
        return ""
    return f"Failed --fail-below: p is {verdict.pvalue:.3g}, below {limit:g}."


def _too_far(verdict: "Verdict", limit: float | None) -> str:
    from calibrant.words import points  # noqa: PLC0415

    if limit is None or verdict.interval is None or not verdict.shown_above(limit):
        return ""
    low = points(verdict.interval[0])
    return f"Failed --fail-above: shown to be off by at least {low}, more than {points(limit)}."


def _not_shown(verdict: "Verdict", limit: float | None) -> str:
    from calibrant.words import points  # noqa: PLC0415

    if limit is None or verdict.shown_below(limit):
        return ""
    if verdict.interval is None:
        why = "bins hold too few rows" if verdict.size is None else "clusters allow no interval"
        return f"Failed --require-below: {why} to say how far off they are."
    high, below = points(verdict.interval[1]), points(limit)
    return f"Failed --require-below: may be off by {high}, not shown to be below {below}."
