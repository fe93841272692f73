"""The Python and the command that reproduce what is on the screen."""

from dataclasses import replace
from pathlib import Path
from shlex import quote

from calibrant.arguments import CONDITION, named_class
from calibrant.cuts.gathering import NUMBER
from calibrant.explorer import lessons
from calibrant.explorer.session import SEED, Session
from calibrant.explorer.state import State
from calibrant.recalibration.spelled import WHOLE

FEW = 4  # values that are named one by one


def python(session: Session, state: State) -> str:
    """Return a program that makes the diagram and the verdict of a state.

    It begins with the file that was opened; where data came from memory, with ``data``.
    """
    lines = ["import numpy as np"] * bool(state.group) + ["import calibrant as cal", ""]
    lines += _model(session, state, "data")
    drawn = "data"
    if state.repair:
        method = f"cal.recalibration.{WHOLE[state.repair].__name__}()"
        lines += [
            f"repaired = cal.recalibrate(data, [{method}], rng={SEED})",
            "after = repaired.predictions(repaired.rows[1].name)",
        ]
        drawn = f"{{'as it is': data, {f'after {state.repair}'!r}: after}}"
    elif state.other:
        lines += _model(session, replace(state, model=state.other), "other")
        drawn = f"{{{state.model or session.first!r}: data, {state.other!r}: other}}"
    lines += _narrowed(session, state)
    return "\n".join([*lines, *_answers(session, state, drawn)])


def _narrowed(session: Session, state: State) -> list[str]:
    """Return the lines that leave the rows of the group and the region."""
    masks = [_group(session, state)] if state.group else []
    masks += [_region(session, state)] if state.region else []
    if not masks:
        return []
    other = ["after"] if state.repair else ["other"] if state.other else []
    narrowed = [f"{name} = {name}.restrict(rows)" for name in ("data", *other)]
    return [f"rows = {' & '.join(masks)}", *narrowed]


def _answers(session: Session, state: State, drawn: str) -> list[str]:
    """Return the lines that draw and judge."""
    draws = f"n_resamples={session.draws['n_resamples']}, rng={SEED}"
    lens, judged = _lens(session, state), "after" if state.repair else "data"
    partition = "" if state.partition is None else f", partition={state.partition!r}"
    if not session.two(state):
        drawn, partition = judged, ""
    verdict = f"cal.evaluate({judged}, lenses={lens}, {draws})"
    before = [f"print(cal.evaluate(data, lenses={lens}, {draws}))"] if state.repair else []
    if state.other and not state.repair:
        verdict = f"cal.compare({drawn}, lenses={lens}, {draws})"
    return [
        f"diagram = cal.reliability_diagram({drawn}, lens={lens}{partition}, {draws})",
        "print(diagram.sentence)",
        *before,
        f"print({verdict})",
        *_tested(session, state, judged, f"lens={lens}, {draws}"),
    ]


def _tested(session: Session, state: State, judged: str, settings: str) -> list[str]:
    """Return the line that makes the null distribution beside the diagram, if there is one."""
    if state.repair or state.other or not (state.statistic or session.two(state)):
        return []
    return [f"print(cal.calibration_test({judged}, {session.statistic(state)!r}, {settings}))"]


def _model(session: Session, state: State, name: str) -> list[str]:
    """Return the lines that read a model."""
    keep = f", keep={state.by!r}" if state.group else ""
    if state.lesson:
        return [lessons.program(state)]
    if not session.files:
        return [f"# {name}: the Predictions that were handed to cal.explore"]
    if len(session.files) == len(session.models):
        return [f"{name} = cal.load({str(_file(session, state))!r}{keep})"]
    files = [str(file) for file in session.files]
    return [f"{name} = cal.load_models({files!r}{keep})[{state.model or session.first!r}]"]


def _group(session: Session, state: State) -> str:
    """Return the mask of the rows of a group."""
    column = session.model(state).columns[state.by]
    inside = {name: rows for name, rows, _ in session.group_rows(state)}[state.group]
    values = sorted({str(value) for value in column[inside]})
    named = f"data.columns[{state.by!r}]"
    if len(values) == 1:
        return f"({named} == {values[0]!r})"
    if len(values) > FEW and all(NUMBER.fullmatch(value) for value in values):
        low, high = min(values, key=float), max(values, key=float)
        return f"(({named}.astype(float) >= {low}) & ({named}.astype(float) <= {high}))"
    return f"np.isin({named}.astype(str), {values!r})"


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


def _lens(session: Session, state: State) -> str:
    if state.lens:
        return repr(state.lens)
    return "'canonical'" if str(session.lens(state)) == "canonical" else "'top'"


def _file(session: Session, state: State) -> Path:
    """Return the file of the model, or the first one where a file has several."""
    place = list(session.models).index(state.model or session.first)
    return session.files[place if len(session.files) == len(session.models) else 0]


def command(session: Session, state: State) -> str:
    """Return the command that prints the verdict of a state, and the one that draws it."""
    if state.lesson or not session.files:
        return "# the data are Python's: write them to a file first"
    note = "# of all rows as they are; the choice of a group or a calibrator is Python's\n"
    return note * bool(state.group or state.repair) + "\n".join(_commands(session, state))


def _commands(session: Session, state: State) -> list[str]:
    """Return the commands about the file of a state."""
    file = str(_file(session, state))
    shared = ["--resamples", str(session.draws["n_resamples"]), "--seed", str(SEED)]
    shared += ["--region", state.region] if state.region else []
    lens = ["--lens", _lens(session, state)[1:-1]]
    bins = ["--partition", state.partition] if state.partition else []
    style = ["--style", state.style] if state.style else []
    told = [
        ["calibrant", "evaluate", file, *lens, *shared],
        ["calibrant", "plot", file, *lens, *bins, *style, *shared, "-o", "diagram.png"],
        ["calibrant", "evaluate", file, "--by", state.by, *shared],
    ]
    return [" ".join(map(quote, words)) for words in (told if state.by else told[:2])]
