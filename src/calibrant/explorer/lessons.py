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
    """A step: what is drawn, what is chosen first, and what to see."""

    title: str
    source: str
    chosen: dict[str, Any]
    text: str


LESSONS = (
    Lesson(
        "A model that keeps its word",
        MIXTURE,
        {"beta0": 0.0, "beta1": -2.0},
        """Two groups of numbers overlap: one around -1, one around 1. For each number x the model
        says how likely it comes from the second. Of all cases in which it says 70 %, 70 % do:
        every mark lies on the line, up to chance. The bars show how much chance allows.""",
    ),
    Lesson(
        "A model that does not",
        MIXTURE,
        {"beta0": 1.0, "beta1": 1.0},
        """The model says 1 / (1 + exp(beta0 + beta1 x)). Now both parameters are 1, and it is
        sure of the wrong group. The curve is the truth, which only a made-up example knows. Move
        the sliders and find the way back.""",
    ),
    Lesson(
        "Calibrated, and of no use",
        MIXTURE,
        {"beta0": 0.0, "beta1": 0.0},
        """With 0 and 0 the model always says 50 %. Half of the cases come from each group, so it
        keeps its word. Calibrated does not mean accurate. It means that a probability is what it
        says.""",
    ),
    Lesson(
        "A lens: only the first choice",
        EXAMPLE_1,
        {"lens": "top"},
        """Three classes, and six predictions that the model can make. A lens asks for one aspect
        of them. Here it is the predicted class and its confidence, at which most papers look. All
        is well.""",
    ),
    Lesson(
        "Another lens: one class at a time",
        EXAMPLE_1,
        {"lens": "class:1"},
        """The same rows. Now the lens asks for class 1 against the rest. All is well again, and
        for classes 2 and 3, too: try them.""",
    ),
    Lesson(
        "Everything at once",
        EXAMPLE_1,
        {},
        """The same rows, and all probabilities at once. Each corner is a class, and each arrow
        leads from what was said to what happened: none stays in place. Said 60, 10 and 30 %, it
        is 70, 0 and 30. Said 60, 30 and 10 %, it is 50, 40 and 10. The first choice has 60 % both
        times; 70 and 50 average to 60, and the lens saw only the average. So the first choice can
        look calibrated when the rest is not.""",
    ),
    Lesson(
        "The first choice is right, each class is wrong",
        EXAMPLE_3,
        {"lens": "top"},
        """Two predictions: 60, 10, 30 % and 40, 60, 0 %. What happens is 70, 20, 10 % and 30, 50,
        20 %. The first choice has 60 % both times. It is right 7 times in 10, or 5 times in 10:
        60 % on average.""",
    ),
    Lesson(
        "What to take home",
        EXAMPLE_3,
        {"lens": "class:3"},
        """Class 3 of the same rows happens when the model says never. A calibrated model is
        calibrated through every lens, so one lens that shows a deviation refutes it, and no lens
        alone acquits it. Choose the lens that your decisions depend on, and look through others,
        too.""",
    ),
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
