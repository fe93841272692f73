"""The Python and the command that reproduce what is on the screen."""

from collections.abc import Callable, Iterator
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
from calibrant.inference import calibration_test, classwise, compare, evaluate, slices
from calibrant.recalibration.spelled import WHOLE
from calibrant.regions import search

FEW = 4  # values that are named one by one


def python(session: Session, state: State) -> str:
    """Return a program that makes the diagram and the verdict of a state.

    It begins with the file that was opened; where data came from memory, with ``data``.
    """
    lines = ["import numpy as np"] * bool(state.group) + ["import calibrant as cal", ""]
    lines.append(_model(session, state, "data"))
    names, drawn, judged = ["data"], "data", "data"
    if state.repair:
        lines += [
            f"method = cal.recalibration.{WHOLE[state.repair].__name__}()",
            f"repaired = cal.recalibrate(data, [method], rng={session.draws['rng']})",
            "after = repaired.predictions(repaired.rows[1].name)",
        ]
        names, judged = ["data", "after"], "after"
        drawn = f"{{'as it is': data, {f'after {state.repair}'!r}: after}}"
    elif state.other:
        lines.append(_model(session, replace(state, model=state.other), "other"))
        names = ["data", "other"]
        drawn = f"{{{state.model or session.first!r}: data, {state.other!r}: other}}"
    masks = [mask(session, state) for mask in (_group, _region)]
    for rows in (" & ".join(filter(None, masks)), _found(session, state, judged)):
        if rows:
            lines += [f"rows = {rows}", *(f"{name} = {name}.restrict(rows)" for name in names)]
    return "\n".join([*lines, *_answers(session, state, drawn, judged)])


def _call(session: Session, state: State, verb: Callable[..., Any], of: str) -> str:
    """Return the call of a verb."""
    settings = {**session.settings(verb, state), **session.draws}
    told = ", ".join(f"{name}={value!r}" for name, value in settings.items())
    return f"cal.{verb.__name__}({of}, {told})"


def _found(session: Session, state: State, of: str) -> str:
    """Return the mask of the rows of a region that was searched; "" for all."""
    number, _, lens = state.found.partition("@")
    searched = replace(state, lens=lens)
    return f"{_call(session, searched, search, of)}[{int(number) - 1}].mask" if number else ""


def _answers(session: Session, state: State, drawn: str, judged: str) -> list[str]:
    """Return the lines that draw and judge."""

    def call(verb: Callable[..., Any], of: str) -> str:
        return _call(session, state, verb, of)

    asked: list[tuple[Callable[..., Any], str]] = [(evaluate, "data")]
    if state.repair:
        asked.append((evaluate, "after"))
    elif state.other:
        asked = [(compare, drawn)]
    if session.statistic(state):
        asked.append((calibration_test, "data"))
    pictured = drawn if session.two(state) else judged
    first = [f"diagram = {call(reliability_diagram, pictured)}", "print(diagram.sentence)"]
    return [*first, *(f"print({call(*each)})" for each in asked)]


def below(session: Session, state: State) -> str:
    """Return calls for what is under the diagram, after the program: classes, groups, regions."""
    of = "after" if state.repair else "data"
    grouped = not state.group and session.settings(slices, state)["by"]
    asked = [classwise] * (session.model(state).m > 2) + [slices] * bool(grouped) + [search]
    return "\n".join(f"print({_call(session, state, verb, of)})" for verb in asked)


def _model(session: Session, state: State, name: str) -> str:
    """Return the line that reads a model."""
    if state.lesson:
        return lessons.program(state)
    if session.demo:
        return f"{name} = cal.datasets.cifar10({state.model or session.first!r})"
    if not session.files:
        return f"# {name}: the Predictions that were handed to cal.explore"
    return f"{name} = {_loaded(session, state)}"


def _loaded(session: Session, state: State) -> str:
    """Return the call that reads a model from its file."""
    columns = list(session.model(state).columns)
    reading = session.reading | ({"keep": columns} if columns else {})
    told = "".join(f", {key}={value!r}" for key, value in reading.items())
    file, alone = _file(session, state)
    if alone and not {"model", "ignore"} & set(reading):
        return f"cal.load({file!r}{told})"
    files, chosen = list(map(str, session.files)), state.model or session.first
    return f"cal.load_models({files!r}, paired=False{told})[{chosen!r}]"


def _group(session: Session, state: State) -> str:
    """Return the mask of the rows of a group; "" for all."""
    if not state.group:
        return ""
    column = session.model(state).columns[state.by].astype(str)
    inside = session.grouped(state).inside(state.group)
    named, values = f"data.columns[{state.by!r}]", np.unique(column[inside])
    if values.size == 1:
        return f"({named}.astype(str) == {str(values[0])!r})"
    if values.size > FEW and (told := _range(named, column, inside)):
        return told
    return f"np.isin({named}.astype(str), {values.tolist()!r})"


def _range(named: str, column: Any, inside: Any) -> str:
    """Return the mask of rows between two values, if these are the rows (n,); "" otherwise."""
    for kind in ("float", "str"):
        try:
            keys = column.astype(kind)
        except ValueError:  # no numbers
            continue
        ends = np.sort(keys[inside])[[0, -1]]
        if (((keys >= ends[0]) & (keys <= ends[1])) == inside).all():
            low, high = (end.item() for end in ends)
            told = f"{named}.astype({kind})"
            return f"(({told} >= {low!r}) & ({told} <= {high!r}))"
    return ""


def _region(session: Session, state: State) -> str:
    """Return the mask of the rows of a region; "" for all."""
    data, told = session.model(state), []
    for name, sign, limit in CONDITION.findall(state.region):
        if name == "max" and "max" not in data.classes:
            told.append(f"(data.probs.max(axis=1) {sign} {limit})")
        else:
            j = data.classes.index(named_class("region", name, data))
            told.append(f"(data.probs[:, {j}] {sign} {limit})")
    return " & ".join(told)


def _file(session: Session, state: State) -> tuple[str, bool]:
    """Return the file of a model, and whether it has no other."""
    if session.demo:
        return f"{state.model or session.first}.parquet", True
    alone = len(session.files) == len(session.models)
    place = list(session.models).index(state.model or session.first) if alone else 0
    return str(session.files[place]), alone


def _files(session: Session, state: State) -> list[str] | str:
    """Return the files of the models that are judged, or why no command can read them."""
    if state.lesson or not (session.files or session.demo):
        return "# the data are Python's: write them to a file first"
    file, alone = _file(session, state)
    if not alone and (state.other or "model" not in session.reading):
        return "# models of one file: the program above chooses and compares them"
    return [file, *_compared(session, state)]


def _compared(session: Session, state: State) -> list[str]:
    """Return the file of the model that the shown one is compared with, if there is one."""
    if state.repair or not state.other:
        return []
    return [_file(session, replace(state, model=state.other))[0]]


def command(session: Session, state: State) -> str:
    """Return the commands that print the verdict of a state, and draw it."""
    files = _files(session, state)
    if isinstance(files, str):
        return files
    lines = ["# of all rows as they are; what narrows or recalibrates them is Python's"]
    lines *= _needs_python(state)
    if session.demo:
        lines += [f"calibrant datasets {Path(file).stem} -o {file}" for file in files]
    commands = _commands(session, state, files)
    return "\n".join([*lines, *(" ".join(map(quote, words)) for words in commands)])


def _needs_python(state: State) -> bool:
    """Whether the rows of a state are changed or chosen in a way that no option has."""
    chosen = (state.group, state.found, state.repair, state.region and state.other)
    return any(chosen)


def _commands(session: Session, state: State, files: list[str]) -> Iterator[list[str]]:
    """Yield the words of each command about the files of a state."""
    told, shared = session.settings(reliability_diagram, state), _shared(session, state)
    lens = ["--lens", told["lens"], *shared]
    look = ["--partition", told["partition"]] if "partition" in told else []
    look += ["--style", state.style] if state.style and session.two(state) else []
    drawn = files if session.two(state) else files[:1]
    yield ["calibrant", "compare" if len(files) > 1 else "evaluate", *files, *lens]
    yield ["calibrant", "plot", *drawn, *look, *lens, "-o", "diagram.png"]
    if state.by:
        yield ["calibrant", "evaluate", files[0], "--by", state.by, *shared]


def _shared(session: Session, state: State) -> list[str]:
    """Return the options of all commands: how files are read, and how much is drawn."""
    words, column = list(session.options), session.reading.get("model")
    words += ["--model", f"{column}={state.model or session.first}"] if column else []
    words += ["--resamples", str(session.draws["n_resamples"])]
    words += ["--seed", str(session.draws["rng"])]
    return [*words, "--region", state.region] if state.region and not state.other else words
