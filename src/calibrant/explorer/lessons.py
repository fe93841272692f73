"""How calibration works: the mixture of Section 5.1 of the paper and its Examples 1 and 3.

A lesson is a state of the explorer whose rows are drawn instead of read.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from calibrant import datasets
from calibrant.explorer.state import State
from calibrant.predictions import Predictions

N, SEED = 10_000, 0  # rows, as in the paper
MIXTURE, EXAMPLE_1, EXAMPLE_3 = "gaussian_mixture", "example1", "example3"  # of `datasets`


class Lesson(NamedTuple):
    """A step: what is drawn, and what is chosen first; `lessons.html.j2` says what to see."""

    title: str
    source: str
    chosen: dict[str, Any]


LESSONS = (
    Lesson("A model that keeps its word", MIXTURE, {"beta0": 0.0, "beta1": -2.0}),
    Lesson("A model that does not", MIXTURE, {"beta0": 1.0, "beta1": 1.0}),
    Lesson("Calibrated, and of no use", MIXTURE, {"beta0": 0.0, "beta1": 0.0}),
    Lesson("A lens: only the first choice", EXAMPLE_1, {"lens": "top"}),
    Lesson("Another lens: one class at a time", EXAMPLE_1, {"lens": "class:1"}),
    Lesson("Everything at once", EXAMPLE_1, {}),
    Lesson("The first choice is right, each class is wrong", EXAMPLE_3, {"lens": "top"}),
    Lesson("What to take home", EXAMPLE_3, {"lens": "class:3"}),
)


def address(number: int) -> str:
    """Return the address of a lesson, from 1."""
    return State(lesson=number, **LESSONS[number - 1].chosen).query()


def lesson(state: State) -> Lesson:
    """Return the lesson of a state."""
    if state.lesson > len(LESSONS):
        raise ValueError(f"`lesson` must be at most {len(LESSONS)}; found {state.lesson}.")
    return LESSONS[state.lesson - 1]


def sliders(state: State) -> dict[str, float]:
    """Return what sliders choose: parameters of the mixture."""
    of_mixture = lesson(state).source == MIXTURE
    return {"beta0": state.beta0, "beta1": state.beta1} if of_mixture else {}


def rows(state: State) -> Predictions:
    """Draw the rows of a lesson."""
    drawn: Predictions = getattr(datasets, lesson(state).source)(N, **sliders(state), rng=SEED)
    return drawn


def program(state: State) -> str:
    """Return the line that draws them."""
    chosen = "".join(f", {name}={value}" for name, value in sliders(state).items())
    return f"data = cal.datasets.{lesson(state).source}({N}{chosen}, rng={SEED})"


def truth(state: State) -> Callable[..., Any] | None:
    """Return the true calibration function, where it is known and is a curve."""
    found = sliders(state) if state.lesson else {}
    return datasets.gaussian_mixture_truth(**found) if found.get("beta1") else None
