"""The Python and the command that reproduce what is on the screen."""

from shlex import quote

from calibrant.explorer.session import SEED, Session
from calibrant.explorer.state import State


def python(session: Session, state: State) -> str:
    """Return a program that makes the diagram and the verdict of a state.

    It begins with the file that was opened; where data came from memory, with ``data``.
    """
    lines = ["import calibrant as cal", ""]
    columns = [state.by] if state.by else []
    lines += _loaded(session, state, columns)
    draws = f"n_resamples={session.draws['n_resamples']}, rng={SEED}"
    if state.repair:
        lines += [
            "from calibrant.recalibration.spelled import as_method",
            f"repaired = cal.recalibrate(data, [as_method({state.repair!r}, data.m)], rng={SEED})",
            "data = repaired.predictions(repaired.rows[1].name)",
        ]
    if state.group:
        lines += [
            "from calibrant.inference.verdicts.groups import LEAST, members",
            f"groups = members({state.by!r}, data.columns[{state.by!r}], data.n, LEAST)",
            f"inside = {{name: rows for name, rows, _ in groups}}[{state.group!r}]",
        ]
    if state.region:
        lines += [
            "from calibrant.arguments import as_region",
            f"region = as_region({state.region!r}, data)(data.probs)",
        ]
    masks = ["inside"] * bool(state.group) + ["region"] * bool(state.region)
    if masks:
        lines.append(f"data = data.restrict({' & '.join(masks)})")
    lens = _lens(session, state)
    partition = "" if state.partition is None else f", partition={state.partition!r}"
    lines += [
        f"diagram = cal.reliability_diagram(data, lens={lens}{partition}, {draws})",
        "print(diagram.sentence)",
        f"print(cal.evaluate(data, lenses={lens}, {draws}))",
    ]
    return "\n".join(lines)


def _lens(session: Session, state: State) -> str:
    if state.lens:
        return repr(state.lens)
    return "'canonical'" if str(session.lens(state)) == "canonical" else "'top'"


def _loaded(session: Session, state: State, columns: list[str]) -> list[str]:
    """Return the lines that read the model."""
    keep = f", keep={columns!r}" if columns else ""
    if not session.files:
        return ["# data: the Predictions that were handed to cal.explore"]
    if len(session.files) == len(session.models):
        file = session.files[list(session.models).index(state.model or session.first)]
        return [f"data = cal.load({str(file)!r}{keep})"]
    names = [str(file) for file in session.files]
    return [f"data = cal.load_models({names!r}{keep})[{state.model or session.first!r}]"]


def command(session: Session, state: State) -> str:
    """Return the command that prints the verdict of a state, and the one that draws it."""
    if not session.files:
        return "# the data were handed over in Python: write them to a file first"
    file = session.files[0]
    if len(session.files) == len(session.models):
        file = session.files[list(session.models).index(state.model or session.first)]
    shared = ["--resamples", str(session.draws["n_resamples"]), "--seed", str(SEED)]
    if state.region:
        shared += ["--region", state.region]
    lens = ["--lens", _lens(session, state)[1:-1]]
    bins = [] if state.partition is None else ["--partition", state.partition]
    style = ["--style", state.style] if state.style else []
    told = [
        ["calibrant", "evaluate", str(file), *lens, *shared],
        ["calibrant", "plot", str(file), *lens, *bins, *style, *shared, "-o", "diagram.png"],
    ]
    if state.by:
        told.append(["calibrant", "evaluate", str(file), "--by", state.by, *shared])
    lines = [" ".join(map(quote, words)) for words in told]
    if state.group or state.repair:
        lines.insert(0, "# of all rows as they are; the choice of a group or a calibrator is Python's")
    return "\n".join(lines)
