"""What a browser is sent: the page, and its panels one by one."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from html import escape
from importlib.resources import files
from typing import Any

import numpy as np

from calibrant import tables
from calibrant.checks.labels import shown
from calibrant.diagrams import ReliabilityDiagram
from calibrant.diagrams.charts import chart, forest
from calibrant.diagrams.charts.svg import asset, policy
from calibrant.diagrams.listed import bin_records
from calibrant.diagrams.null import null_picture
from calibrant.explorer import code, lessons
from calibrant.explorer.session import Session
from calibrant.explorer.state import MOST_BINS, STEEPEST, STYLES, TABS, State
from calibrant.inference.replicates.problem import Progress
from calibrant.lenses import Canonical
from calibrant.monitor.periods import HEADER as PERIODS
from calibrant.predictions import Predictions
from calibrant.recalibration.spelled import WHOLE
from calibrant.reporting.page import sparks
from calibrant.words import capital, many, pvalue

PAGE_ROWS = 20
MOST_SPARKS = 12
MOST_CHIPS = 100  # classes that can be clicked together
MOST_COLUMNS = 8  # of a file, beside each row
STATISTICS = {
    "": "ECE",
    "mce": "largest gap (MCE)",
    "rms": "root mean square of bins",
    "ace": "ECE, equally many rows in bins",
    "cox": "intercept and slope (Cox)",
    "neyman": "smooth curve (Neyman)",
    "kolmogorov": "cumulative (Kolmogorov)",
    "spiegelhalter": "Brier score (Spiegelhalter)",
    "kernel:0.1": "kernel",
    "log": "log loss",
}
OF_MANY = {"kernel:0.1": "kernel", "worst-class": "worst class", "classwise_ece": "classwise ECE"}
MOST_LENSES = 1000  # classes that are offered one by one
IMAGES = (".png", ".jpg", ".jpeg", ".gif", ".webp")


class Pages:
    """The pages of a session."""

    def __init__(self, session: Session, title: str) -> None:
        from jinja2 import Environment, PackageLoader  # noqa: PLC0415
        from markupsafe import Markup  # noqa: PLC0415

        self.session = session
        self.title = title
        environment = Environment(
            loader=PackageLoader("calibrant.explorer", "."),
            autoescape=True,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        environment.globals.update(
            raw=Markup, many=many, session=session, lessons=lessons, styles=STYLES, tabs=TABS
        )
        environment.globals.update(most_bins=MOST_BINS, steepest=STEEPEST)
        self._page = environment.get_template("page.html.j2")
        self._parts = environment.get_template("parts.html.j2").module
        here = files("calibrant.explorer")
        self.script = asset("chart.js") + here.joinpath("page.js").read_text("utf-8")
        report = files("calibrant.reporting").joinpath("style.css").read_text("utf-8")
        own = here.joinpath("page.css").read_text("utf-8")
        self.style = asset("palette.css") + asset("chart.css") + report + own

    @property
    def policy(self) -> str:
        """The content-security policy: nothing from elsewhere, and only our script."""
        mine = policy(self.script).replace("img-src data:", "img-src 'self' data:")
        return f"{mine}; connect-src 'self'; form-action 'self'; frame-src 'self'; base-uri 'none'"

    def whole(self, state: State) -> str:
        """Return the page of a state."""
        return self._page.render(
            title=self.title,
            state=state,
            style=self.style,
            script=self.script,
            controls=self.controls(state),
            diagram=self.diagram(state),
            below=self.below(state) if state.tab in ("bins", "rows", "code") else None,
        )

    def alone(self, panel: str) -> str:
        """Return a page that holds a panel alone, for browsers without a script."""
        head = f'<!DOCTYPE html><html lang="en"><meta charset="utf-8"><title>{escape(self.title)}'
        return f'{head}</title><style>{self.style}</style><body class="panel">{panel}'

    # Panels: pieces of HTML

    def controls(self, state: State, _: Progress | None = None) -> str:
        """Return the form on the left."""
        session, data = self.session, self.session.model(state)
        grouped = state.by in data.columns and not state.lesson
        return self._part(
            "lesson" if state.lesson else "controls",
            state=state,
            data=data,
            lenses=_lenses(state, data, session),
            statistics=_statistics(state, session.two(state)),
            groups=[name for name, _, _ in session.group_rows(state)] if grouped else [],
            chips=_chips(state, data),
            repairs=[name for name in WHOLE if data.m == 2 or name != "beta"],
        )

    def diagram(self, state: State, progress: Progress | None = None) -> str:
        """Return the reliability diagram, and the null distribution of its ECE."""
        found = self.session.diagram(state, progress)
        picture = found.picture(**look(state, found))
        drawn = chart(picture, found.sentence)
        test = self.session.test(state, progress) if len(found.series) == 1 else None
        beside = None
        if test is not None:
            beside = chart(null_picture(test, str(test.settings["statistic"])))
        frame = picture.frame
        return self._part(
            "diagram",
            state=state,
            sentence=found.sentence,
            drawn=drawn.figure,
            axis="" if frame is None else f"{frame.x[0]} {frame.x[1]} {int(frame.square)}",
            kind=len(found.classes),
            one=len(found.series) == 1,
            worst=_worst(found, state),
            title=capital(found.subject or f"P({found.classes[found.event]})")
            if len(found.classes) == 2
            else ", ".join(found.classes),
            rows=self.session.data(state).n,
            null=None if beside is None else beside.figure,
            p=None if test is None else pvalue(test.pvalue, test.null.size),
        )

    def verdict(self, state: State, progress: Progress | None = None) -> str:
        """Return what may be concluded about the lens, of one model or two."""
        if state.other and not state.repair:
            compared = self.session.comparison(state, progress)
            lines = [(False, line) for line in str(compared).splitlines()]
            header, rows = compared.lines()
        else:
            lines = []
            for name, found in self.session.evaluations(state, progress).items():
                before = f"{capital(name)}: " if state.repair else ""
                lines += [(v.rejected, f"{before}{v.sentence}") for v in found.verdicts]
                if found.ece is not None:
                    lines.append((False, f"{before}{str(found).splitlines()[-1]}"))
                header, rows = found.lines()
        return self._part("verdict", lines=lines, table=tables.cards(header, rows, 2))

    def below(self, state: State, progress: Progress | None = None) -> str:
        """Return what is under the diagram: the chosen tab."""
        return str(getattr(self, f"_{state.tab}")(state, progress))

    def _bins(self, state: State, progress: Progress | None) -> str:
        found = self.session.diagram(state, progress)
        header, lines = found.lines()
        links = [state.query(bin=mark, tab="rows", page=0) for mark in _marks(found)]
        return self._part("bins", header=header, lines=lines, links=links)

    def _rows(self, state: State, progress: Progress | None) -> str:
        found = self.session.diagram(state, progress)
        rows = selected_rows(self.session, state, found)
        header, lines, numbers = row_table(self.session, state, rows)
        images = [
            [i for i, cell in enumerate(line) if cell.lower().endswith(IMAGES)] for line in lines
        ]
        return self._part(
            "rows",
            state=state,
            header=header,
            lines=zip(numbers, lines, images, strict=True),
            n=len(rows),
            first=state.page * PAGE_ROWS,
            last=min(len(rows), (state.page + 1) * PAGE_ROWS),
            fixed=len(header) - len(beside(self.session.model(state))),
        )

    def _classes(self, state: State, progress: Progress | None) -> str:
        found = self.session.classes(state, progress)
        header, lines = found.lines()
        diagrams = {
            name: self.session.diagram(replace(state, lens=f"class:{name}", bins=0, other=""))
            for name in (found.classes[j] for j in found.ranked[:MOST_SPARKS])
        }
        pictures, _ = sparks(diagrams)
        small = [(name, state.moved(lens=f"class:{name}"), drawn) for name, drawn in pictures]
        links = [state.moved(lens=f"class:{line[0]}") for line in lines]
        return self._part(
            "classes",
            told=capital(str(found)),
            worst=found.classes[found.ranked[0]],
            why=next(iter(diagrams.values())).sentence,
            sparks=small,
            header=header,
            lines=lines,
            links=links,
        )

    def _groups(self, state: State, progress: Progress | None) -> str:
        columns = list(self.session.model(state).columns)
        if not columns or not state.by:
            return self._part("groups", state=state, columns=columns, drawn=None)
        found = self.session.groups(state, progress)
        header, lines = found.lines()
        drawn = forest(found.rows, f"How far off the groups of {state.by} are.")
        links = [
            state.moved(group="" if row.group == state.group else row.group) for row in found.rows
        ]
        return self._part(
            "groups",
            state=state,
            columns=columns,
            told=f"{found}.",
            drawn=drawn.figure,
            header=header[1:],
            lines=[line[1:] for line in lines],
            links=links,
        )

    def _where(self, state: State, progress: Progress | None) -> str:
        found = self.session.where(state, progress)
        header, lines = found.lines()
        return self._part(
            "where",
            told=found.sentences,
            notes=found.notes,
            drawn=found.figure().figure,
            table=tables.cards(header, lines, 1),
        )

    def _when(self, state: State, _: Progress | None) -> str:
        found = self.session.when(state)
        if found is None:
            return self._part("when", found=None)
        drawn = chart(found.picture(), found.sentence).figure
        periods = tables.cards(PERIODS, [period.cells() for period in found.periods], 1)
        return self._part("when", found=found, drawn=drawn, table=periods)

    def _code(self, state: State, _: Progress | None) -> str:
        return self._part(
            "code",
            state=state,
            python=code.python(self.session, state),
            command=code.command(self.session, state),
        )

    def _part(self, name: str, **values: Any) -> str:
        return str(getattr(self._parts, name)(values))


def _lenses(state: State, data: Predictions, session: Session) -> dict[str, str]:
    """Return the lenses that are offered, by name, the default first."""
    if data.m == 2:
        found = {"": f"P({data.classes[1]})", "top": "predicted class"}
    else:
        whole = isinstance(session.lens(replace(state, lens="")), Canonical)
        found = {"": "all classes"} if whole else {}
        found |= {"top" if whole else "": "predicted class"}
        found |= {f"top:{k}": f"top {k} classes" for k in range(2, min(4, data.m))}
        found |= {"pooled": "all classes pooled"}
        found |= {f"class:{name}": f"class {shown(name)}" for name in data.classes[:MOST_LENSES]}
    return found if state.lens in found else found | {state.lens: state.lens}


def _statistics(state: State, two: bool) -> dict[str, str]:
    """Return the statistics that are offered, by name: those of one probability, or of several."""
    found = STATISTICS if two else {"": "no single statistic", "log": STATISTICS["log"]} | OF_MANY
    other = state.statistic
    return found if other in found else found | {other: other}


def _chips(state: State, data: Predictions) -> list[tuple[str, int]]:
    """Return the classes with the group that each is in, for groups built by clicking."""
    if not 2 < data.m <= MOST_CHIPS:
        return []
    groups = state.lens.removeprefix("groups:").split("|") if "|" in state.lens else []
    places = {name: i for i, group in enumerate(groups) for name in group.split(",")}
    return [(name, places.get(name, 0)) for name in data.classes]


def look(state: State, found: ReliabilityDiagram) -> dict[str, Any]:
    """Return how a diagram is drawn: styles are for two outcomes, and bars for one model."""
    fits = len(found.classes) == 2 and not (state.style == "bars" and len(found.series) > 1)
    told: dict[str, Any] = {"style": state.style} if state.style and fits else {}
    true = lessons.truth(state)
    return told if true is None or len(found.classes) > 2 else told | {"truth": true}


def _marks(found: ReliabilityDiagram) -> list[int]:
    """Return the number of the mark that each line of the table of bins is about, of one model."""
    if len(found.series) > 1:
        return []
    series = found.series[0]
    if len(found.classes) > 2:
        return [record["bin"] - 1 for record in bin_records(found)]
    predicted = series.function.predicted[series.shown, found.event]
    return [int(place) for place in np.argsort(predicted, kind="stable")]


def _worst(found: ReliabilityDiagram, state: State) -> str:
    """Return the address of the rows of the bin with the strongest evidence against it.

    Of equal ones, it is the one that is furthest off; there is none of two models.
    """

    def evidence(pair: tuple[dict[str, Any], int]) -> tuple[float, float]:
        return pair[0]["adjusted_pvalue"], -abs(pair[0]["deviation"])

    pairs = list(zip(bin_records(found), _marks(found), strict=False))
    return state.moved(bin=min(pairs, key=evidence)[1], tab="rows") if pairs else ""


def selected_rows(session: Session, state: State, found: ReliabilityDiagram) -> Any:
    """Return the numbers of the rows that were selected, the most surprising outcome first."""
    data, lens = session.data(state), session.lens(state)
    seen = lens(data)
    of_row = np.arange(seen.n) * data.n // seen.n  # of the pooled lens, m rows are one
    mask = np.ones(seen.n, bool)
    if state.bin >= 0 and len(found.series) == 1:
        fitted = found.series[0].function.fitted
        cells = np.flatnonzero(found.series[0].shown)
        mask &= np.asarray(fitted.assign(seen.probs)) == cells[min(state.bin, cells.size - 1)]
    if len(found.classes) == 2:
        p = seen.probs[:, found.event]
        mask &= (p >= state.low) & (p <= state.high)
    rows = np.unique(of_row[mask])
    given = data.probs[rows, data.labels[rows]]
    return rows[np.argsort(given, kind="stable")]


def beside(data: Predictions) -> list[str]:
    """Return the columns of a file that are shown beside rows."""
    return list(data.columns)[:MOST_COLUMNS]


def row_table(
    session: Session, state: State, rows: Any
) -> tuple[Sequence[str], list[list[str]], list[int]]:
    """Return header, lines and numbers of one page of rows."""
    data, numbers = session.data(state), session.rows(state)
    columns = beside(data)
    header = ("row, from 0", "outcome", "P(outcome)", "predicted", "confidence", *columns)
    if data.m == 2:
        header = ("row, from 0", "outcome", "P(outcome)", f"P({data.classes[1]})", *columns)
    some = rows[state.page * PAGE_ROWS : (state.page + 1) * PAGE_ROWS]
    lines = [list(_line(data, int(row), int(numbers[row]), columns)) for row in some]
    return header, lines, [int(numbers[row]) for row in some]


def _line(data: Predictions, row: int, number: int, columns: Sequence[str]) -> Iterator[str]:
    probs, label = data.probs[row], int(data.labels[row])
    yield f"{number:,}"
    yield data.classes[label]
    yield f"{probs[label]:.4f}"
    if data.m == 2:
        yield f"{probs[1]:.4f}"
    else:
        top = int(probs.argmax())
        yield data.classes[top]
        yield f"{probs[top]:.4f}"
    for column in columns:
        yield str(data.columns[column][row])
