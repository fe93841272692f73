"""The Python and the command that reproduce what is on the screen."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
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
    models = zip(("data", "other"), _models(session, state), strict=False)
    lines += [_reading(session, state, *each) for each in models]
    if state.repair:
        lines += [
            f"method = cal.recalibration.{WHOLE[state.repair].__name__}()",
            f"repaired = cal.recalibrate(data, [method], rng={session.draws['rng']})",
            "after = repaired.predictions(repaired.rows[1].name)",
        ]
    variables, masks = _variables(state), [mask(session, state) for mask in (_group, _region)]
    for rows in filter(None, (" & ".join(filter(None, masks)), _found(session, state))):
        lines += [f"rows = {rows}", *(f"{each} = {each}.restrict(rows)" for each in variables)]
    return "\n".join([*lines, *_answers(session, state)])


def _models(session: Session, state: State) -> list[str]:
    """Return the names of the models that are read: the shown one, and the one beside it."""
    other = state.other if not state.repair else ""
    return list(filter(None, (state.model or session.first, other)))


def _variables(state: State) -> list[str]:
    """Return what holds the models that are drawn."""
    second = "after" if state.repair else "other" if state.other else ""
    return list(filter(None, ("data", second)))


def _call(session: Session, state: State, verb: Callable[..., Any], of: str) -> str:
    """Return the call of a verb."""
    settings = {**session.settings(verb, state), **session.draws}
    return f"cal.{verb.__name__}({', '.join([of, *_keywords(settings)])})"


def _keywords(settings: Mapping[str, Any]) -> list[str]:
    """Return settings as arguments of a call."""
    return [f"{name}={value!r}" for name, value in settings.items()]


def _looked_at(state: State) -> str:
    """Return the variable that holds the rows which are looked at."""
    return "after" if state.repair else "data"


def _found(session: Session, state: State) -> str:
    """Return the mask of the rows of a region that was searched; "" for all."""
    if not state.found:
        return ""
    number, _, lens = state.found.partition("@")
    searched = _call(session, replace(state, lens=lens), search, _looked_at(state))
    return f"{searched}[{int(number) - 1}].mask"


def _answers(session: Session, state: State) -> list[str]:
    """Return the lines that draw and judge."""
    variables, alone = _variables(state), _looked_at(state)
    names = map(repr, session.pair(state))
    pairs = (": ".join(pair) for pair in zip(names, variables, strict=True))
    together = f"{{{', '.join(pairs)}}}"
    paired = len(variables) > 1 and session.two(state)
    asked: list[tuple[Callable[..., Any], str]] = [(evaluate, name) for name in variables]
    if "other" in variables:
        asked = [(compare, together)]
    if session.statistic(state):
        asked.append((calibration_test, "data"))
    drawn = _call(session, state, reliability_diagram, together if paired else alone)
    judged = [f"print({_call(session, state, *each)})" for each in asked]
    return [f"diagram = {drawn}", "print(diagram.sentence)", *judged]


def below(session: Session, state: State) -> str:
    """Return calls for what is under the diagram: classes, groups, regions, and dates."""
    grouped = not state.group and session.settings(slices, state)["by"]
    asked = [classwise] * (session.model(state).m > 2) + [slices] * bool(grouped) + [search]
    lines = [f"print({_call(session, state, verb, _looked_at(state))})" for verb in asked]
    if session.when(state) is not None:
        lines.append("from calibrant.monitor.periods import over_time")
        lines.append(f"print(over_time({_looked_at(state)}).sentence)")
    return "\n".join(lines)


def _reading(session: Session, state: State, variable: str, name: str) -> str:
    """Return the line that reads a model."""
    if state.lesson:
        return lessons.program(state)
    if not session.files and not session.demo:
        return f"# {variable}: the Predictions that were handed to cal.explore"
    if session.demo:
        return f"{variable} = cal.datasets.cifar10({name!r})"
    keep = list(session.models[name].columns)
    reading = session.reading | ({"keep": keep} if keep else {})
    options = _keywords(reading)
    file, alone = _file(session, name)
    if alone and not {"model", "ignore"} & set(reading):
        return f"{variable} = cal.load({', '.join([repr(file), *options])})"
    given = ", ".join([repr(list(map(str, session.files))), "paired=False", *options])
    return f"{variable} = cal.load_models({given})[{name!r}]"


def _group(session: Session, state: State) -> str:
    """Return the mask of the rows of a group; "" for all."""
    if not state.group:
        return ""
    column = session.model(state).columns[state.by].astype(str)
    inside, named = session.grouped(state).inside(state.group), f"data.columns[{state.by!r}]"
    values = np.unique(column[inside]).tolist()
    if len(values) == 1:
        return f"({named}.astype(str) == {values[0]!r})"
    span = _range(named, column, inside) if len(values) > FEW else ""
    return span or f"np.isin({named}.astype(str), {values!r})"


def _range(named: str, column: Any, inside: Any) -> str:
    """Return the mask of rows between two values, if these are the rows (n,); "" otherwise."""
    for kind in ("float", "str"):
        try:
            keys = column.astype(kind)
        except ValueError:  # no numbers
            continue
        low, high = np.sort(keys[inside])[[0, -1]].tolist()
        if (((keys >= low) & (keys <= high)) == inside).all():
            values = f"{named}.astype({kind})"
            return f"(({values} >= {low!r}) & ({values} <= {high!r}))"
    return ""


def _region(session: Session, state: State) -> str:
    """Return the mask of the rows of a region; "" for all."""
    data, conditions = session.model(state), []
    for name, sign, limit in CONDITION.findall(state.region):
        if name == "max" and "max" not in data.classes:
            conditions.append(f"(data.probs.max(axis=1) {sign} {limit})")
        else:
            j = data.classes.index(named_class("region", name, data))
            conditions.append(f"(data.probs[:, {j}] {sign} {limit})")
    return " & ".join(conditions)


def _file(session: Session, name: str) -> tuple[str, bool]:
    """Return the file of a model, and whether it has no other."""
    if session.demo:
        return f"{name}.parquet", True
    alone = len(session.files) == len(session.models)
    return str(session.files[list(session.models).index(name) if alone else 0]), alone


def command(session: Session, state: State) -> str:
    """Return the commands that print the verdict of a state and draw it, or why there are none."""
    why = _why_none(session, state)
    if why:
        return f"# {why}"
    files = [_file(session, name)[0] for name in _models(session, state)]
    commands = [" ".join(map(quote, words)) for words in _commands(session, state, files)]
    return "\n".join([*_before(session, state), *commands])


def _why_none(session: Session, state: State) -> str:
    """Say why there is no command; "" if there is."""
    if state.lesson or not (session.files or session.demo):
        return "the data are Python's: write them to a file first"
    names = _models(session, state)
    if _file(session, names[0])[1] or ("model" in session.reading and len(names) == 1):
        return ""
    return "models of one file: the program above chooses and compares them"


def _before(session: Session, state: State) -> list[str]:
    """Return the lines before the commands: what they leave out, and what writes their files."""
    lines = ["# of all rows as they are; what narrows or recalibrates them is Python's"]
    lines *= any((state.group, state.found, state.repair, state.region and state.other))
    networks = _models(session, state) if session.demo else []
    return lines + [f"calibrant datasets {name} -o {name}.parquet" for name in networks]


def _commands(session: Session, state: State, files: list[str]) -> Iterator[list[str]]:
    """Yield the words of each command about the files of a state."""
    settings, shared = session.settings(reliability_diagram, state), _shared(session, state)
    lens = ["--lens", settings["lens"], *shared]
    look = ["--partition", settings["partition"]] if "partition" in settings else []
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
