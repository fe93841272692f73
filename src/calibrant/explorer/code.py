"""The Python and the command that reproduce what is on the screen."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from shlex import quote
from typing import Any

import numpy as np

from calibrant.arguments import CONDITION, named_class
from calibrant.diagrams import reliability_diagram
from calibrant.explorer import lessons
from calibrant.explorer.session import Session
from calibrant.explorer.state import State
from calibrant.inference import calibration_test, compare, evaluate, slices
from calibrant.recalibration.spelled import WHOLE

FEW = 4  # values that are named one by one


def python(session: Session, state: State) -> str:
    """Return a program that makes the diagram and the verdict of a state.

    It begins with the file that was opened; where data came from memory, with ``data``.
    """
    lines = ["import numpy as np"] * bool(state.group) + ["import calibrant as cal", ""]
    lines.append(_model(session, state, "data"))
    judged, other, drawn = "data", "", "data"
    if state.repair:
        judged = other = "after"
        method = f"cal.recalibration.{WHOLE[state.repair].__name__}()"
        lines += [
            f"repaired = cal.recalibrate(data, [{method}], rng={session.draws['rng']})",
            "after = repaired.predictions(repaired.rows[1].name)",
        ]
        drawn = f"{{'as it is': data, {f'after {state.repair}'!r}: after}}"
    elif state.other:
        other = "other"
        lines.append(_model(session, replace(state, model=state.other), other))
        drawn = f"{{{state.model or session.first!r}: data, {state.other!r}: other}}"
    masks = [_group(session, state)] if state.group else []
    masks += [_region(session, state)] if state.region else []
    if masks:
        lines.append(f"rows = {' & '.join(masks)}")
        lines += [f"{name} = {name}.restrict(rows)" for name in ("data", other) if name]
    pictured = drawn if session.two(state) else judged

    def call(verb: Callable[..., Any], of: str) -> str:
        settings = {**session.settings(verb, state), **session.draws}
        told = ", ".join(f"{name}={value!r}" for name, value in settings.items())
        return f"cal.{verb.__name__}({of}, {told})"

    lines += [f"diagram = {call(reliability_diagram, pictured)}", "print(diagram.sentence)"]
    asked = [(evaluate, "data"), (evaluate, "after")] if state.repair else [(evaluate, "data")]
    if state.other and not state.repair:
        asked = [(compare, drawn)]
    if session.statistic(state):
        asked.append((calibration_test, "data"))
    if state.by and not (state.group or other):
        asked.append((slices, "data"))
    return "\n".join([*lines, *(f"print({call(*each)})" for each in asked)])


def _model(session: Session, state: State, name: str) -> str:
    """Return the line that reads a model."""
    if state.lesson:
        return lessons.program(state)
    if not session.files:
        return f"# {name}: the Predictions that were handed to cal.explore"
    reading = session.reading | ({"keep": state.by} if state.by else {})
    told = "".join(f", {key}={value!r}" for key, value in reading.items())
    if len(session.files) == len(session.models) and not {"model", "ignore"} & set(reading):
        return f"{name} = cal.load({str(_file(session, state))!r}{told})"
    files = [str(file) for file in session.files]
    chosen = state.model or session.first
    return f"{name} = cal.load_models({files!r}, paired=False{told})[{chosen!r}]"


def _group(session: Session, state: State) -> str:
    """Return the mask of the rows of a group."""
    column = session.model(state).columns[state.by].astype(str)
    inside = {name: rows for name, rows, _ in session.group_rows(state)}[state.group]
    named, values = f"data.columns[{state.by!r}]", np.unique(column[inside])
    if values.size == 1:
        return f"({named}.astype(str) == {str(values[0])!r})"
    for kind in ("float", "str") if values.size > FEW else ():
        try:
            keys = column.astype(kind)
        except ValueError:  # no numbers
            continue
        ends = np.sort(keys[inside])[[0, -1]]
        if (((keys >= ends[0]) & (keys <= ends[1])) == inside).all():
            low, high = (end.item() for end in ends)
            told = f"{named}.astype({kind})"
            return f"(({told} >= {low!r}) & ({told} <= {high!r}))"
    return f"np.isin({named}.astype(str), {values.tolist()!r})"


def _region(session: Session, state: State) -> str:
    """Return the mask of the rows of a region."""
    data, told = session.model(state), []
    for name, sign, limit in CONDITION.findall(state.region):
        if name == "max" and "max" not in data.classes:
            told.append(f"(data.probs.max(axis=1) {sign} {limit})")
        else:
            j = data.classes.index(named_class("region", name, data))
            told.append(f"(data.probs[:, {j}] {sign} {limit})")
    return " & ".join(told)


def _file(session: Session, state: State) -> Path:
    """Return the file of the model, or the first one where a file has several."""
    place = list(session.models).index(state.model or session.first)
    return session.files[place if len(session.files) == len(session.models) else 0]


def command(session: Session, state: State) -> str:
    """Return the commands that print the verdict of a state, and draw it."""
    if state.lesson or not session.files:
        return "# the data are Python's: write them to a file first"
    column = session.reading.get("model")
    if column and state.other:
        return "# models of one file are compared by the program above"
    drawn, shared = session.settings(reliability_diagram, state), [*session.options]
    shared += ["--model", f"{column}={state.model or session.first}"] if column else []
    shared += ["--resamples", str(session.draws["n_resamples"])]
    shared += ["--seed", str(session.draws["rng"])]
    shared += ["--region", state.region] if state.region else []
    look = ["--partition", state.partition] if "partition" in drawn else []
    look += ["--style", state.style] if state.style and session.two(state) else []
    files = [str(_file(session, state))]
    verb, pictured = "evaluate", files
    if state.other and not state.repair:
        verb = "compare"
        files = [*files, str(_file(session, replace(state, model=state.other)))]
        pictured = files if session.two(state) else files[:1]
    lens = ["--lens", drawn["lens"], *shared]
    told = [
        ["calibrant", verb, *dict.fromkeys(files), *lens],
        ["calibrant", "plot", *dict.fromkeys(pictured), *look, *lens, "-o", "diagram.png"],
    ]
    if state.by:
        told.append(["calibrant", "evaluate", files[0], "--by", state.by, *shared])
    note = "# of all rows as they are; the choice of a group or a calibrator is Python's\n"
    commands = "\n".join(" ".join(map(quote, words)) for words in told)
    return note * bool(state.group or state.repair) + commands
