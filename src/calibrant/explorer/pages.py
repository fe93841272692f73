"""What a browser is sent: the page, and its panels one by one."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.resources import files
from typing import Any
from urllib.parse import urlencode

import numpy as np

from calibrant import tables
from calibrant.checks.labels import shown
from calibrant.diagrams import ReliabilityDiagram, reliability_diagram
from calibrant.diagrams.charts import chart
from calibrant.diagrams.charts.svg import asset, policy
from calibrant.diagrams.listed import bin_records
from calibrant.diagrams.null import null_picture
from calibrant.explorer import code, lessons
from calibrant.explorer.session import Session
from calibrant.explorer.state import MOST_BINS, STEEPEST, STYLES, TABS, State
from calibrant.inference import calibration_test, classwise, compare, evaluate, slices
from calibrant.inference.replicates.problem import Progress
from calibrant.predictions import Predictions
from calibrant.recalibration.spelled import WHOLE
from calibrant.regions import search
from calibrant.reporting.contents import Where
from calibrant.reporting.page import (
    environment,
    figure_parts,
    slices_parts,
    sparks,
    time_parts,
    where_parts,
)
from calibrant.scores import all_scores
from calibrant.words import capital, decimal, percent, pvalue, score_name

PAGE_ROWS = 20
MOST_SPARKS = 12
MOST_CHIPS = 100  # classes that can be clicked together
MOST_OUTCOMES = 4
LONG = 24  # letters of a text that may take several lines
MOST_COLUMNS = 8  # of a file, beside each row
MOST_LENSES = 1000  # classes that are offered one by one
PANELS = "controls", "diagram", "verdict", "below"
IMAGES = {".png": "image/png", ".gif": "image/gif", ".webp": "image/webp"}
IMAGES |= dict.fromkeys((".jpg", ".jpeg"), "image/jpeg")
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
OF_MANY = {
    "": "no single statistic",
    "log": "log loss",
    "kernel:0.1": "kernel",
    "worst-class": "worst class",
    "classwise_ece": "classwise ECE",
}


class Pages:
    """The pages of a session."""

    def __init__(self, session: Session, title: str) -> None:
        self.session, self.title = session, title
        found = environment()
        found.globals.update(session=session, lessons=lessons, styles=STYLES, tabs=TABS)
        found.globals.update(most_bins=MOST_BINS, steepest=STEEPEST)
        self._page = found.get_template("explorer/page.html.j2")
        self._parts = [
            found.get_template(name).module
            for name in ("explorer/parts.html.j2", "reporting/sections.html.j2")
        ]
        here = files("calibrant.explorer")
        self.script = asset("chart.js") + here.joinpath("page.js").read_text("utf-8")
        report = files("calibrant.reporting").joinpath("style.css").read_text("utf-8")
        own = here.joinpath("page.css").read_text("utf-8")
        self.style = asset("palette.css") + asset("chart.css") + report + own

    @property
    def policy(self) -> str:
        """The content-security policy: nothing from elsewhere, and only our script."""
        mine = policy(self.script).replace("img-src data:", "img-src 'self' data:")
        return f"{mine}; connect-src 'self'; form-action 'self'; base-uri 'none'"

    def whole(self, state: State, *, complete: bool = False) -> str:
        """Return the page of a state: complete, or with what the script asks for left open."""
        names = PANELS if complete else PANELS[:2]
        return str(
            self._page.render(
                title=self.title,
                state=state,
                style=self.style,
                script=self.script,
                panels={name: self.panel(name, state) for name in names},
            )
        )

    def panel(self, name: str, state: State, progress: Progress | None = None) -> str:
        """Return a piece of the page."""
        if name == "below":  # the chosen tab
            name = f"_{state.tab}"
        return str(getattr(self, name)(state, progress))

    # Panels: pieces of HTML

    def controls(self, state: State, progress: Progress | None = None) -> str:
        """Return the form on the left."""
        session, data = self.session, self.session.model(state)
        grouped = state.by in data.columns and not state.lesson
        statistics = STATISTICS if session.two(state) else OF_MANY
        return self._part(
            "lesson" if state.lesson else "controls",
            state=state,
            data=data,
            lenses=self._lenses(state),
            statistics=_offered(statistics, state.statistic),
            groups=session.grouped(state).names if grouped else [],
            region=self.session.conditions(state, progress),
            chips=_chips(state, data),
            repairs=[name for name in WHOLE if data.m == 2 or name != "beta"],
        )

    def _lenses(self, state: State) -> dict[str, str]:
        """Return the lenses that are offered, and the one that was chosen."""
        default = self.session.lens_name(replace(state, lens=""))
        return _offered(_lenses(self.session.model(state), default), state.lens)

    def diagram(self, state: State, progress: Progress | None = None) -> str:
        """Return the reliability diagram, and the null distribution of its statistic."""
        found = self.session.ask(reliability_diagram, state, progress)
        drawn = figure_parts(found, "marks", found.sentence, **look(state, found))
        null, p = None, ""
        if self.session.statistic(state):
            test = self.session.ask(calibration_test, state, progress)
            null = chart(null_picture(test, str(test.settings["statistic"]))).figure
            p = pvalue(test.pvalue, test.null.size)
        frame = drawn["frame"]
        return self._part(
            "diagram",
            state=state,
            drawn=drawn,
            figure=replace(drawn["chart"], table=((), ())).figure,
            axis="" if frame is None else f"{frame.x[0]} {frame.x[1]} {int(frame.square)}",
            size=len(found.classes),
            one=len(found.series) == 1,
            worst=_worst(found, state),
            title=self._title(state, found),
            rows=self.session.data(state).n,
            where=self._narrowed(state, progress),
            null=null,
            scores=score_lines(self.session.pair(state, progress)),
            p=p,
        )

    def _title(self, state: State, found: ReliabilityDiagram) -> str:
        """Return what a diagram shows, as the list of lenses says it."""
        if len(found.classes) == 2:
            return capital(found.subject or f"P({found.classes[found.event]})")
        of_groups = state.lens.startswith("groups:")
        return ", ".join(found.classes) if of_groups else capital(self._lenses(state)[state.lens])

    def _narrowed(self, state: State, progress: Progress | None) -> str:
        """Return which rows are looked at, in words."""
        group = f"{state.by} = {state.group}" if state.group else ""
        found = self.session.conditions(state, progress)
        return " and ".join(filter(None, (group, state.region, found)))

    def verdict(self, state: State, progress: Progress | None = None) -> str:
        """Return what may be concluded about the lens, of one model or two."""
        if state.other and not state.repair:
            compared = self.session.ask(compare, state, progress)
            lines = [(False, line, "") for line in str(compared).splitlines()]
            return self._part("verdict", lines=lines, tables=[compared.lines()])
        lines, tests = [], []
        names = ("As it is: ", f"After {state.repair}: ") if state.repair else ("",)
        for before, found in zip(names, self.session.evaluations(state, progress), strict=True):
            ece = "" if found.ece is None else str(found).splitlines()[-1]
            lines += [(v.rejected, f"{before}{v.sentence}", ece) for v in found.verdicts]
            tests.append(found.lines())
        return self._part("verdict", lines=lines, tables=tests)

    def _bins(self, state: State, progress: Progress | None) -> str:
        found = self.session.ask(reliability_diagram, state, progress)
        header, lines = found.lines()
        links = [state.query(bin=mark, tab="rows", page=0) for mark in _marks(found)]
        at = list(header).index("bin") if "bin" in header else 0
        lines = _linked(lines, links, at) or lines
        return self._part("bins", header=header, lines=lines, links=links)

    def _rows(self, state: State, progress: Progress | None) -> str:
        found = self.session.ask(reliability_diagram, state, progress)
        rows = selected_rows(self.session, state, found)
        first = state.page * PAGE_ROWS
        header, lines = row_table(self.session, state, rows[first : first + PAGE_ROWS])
        columns = min(MOST_COLUMNS, len(self.session.model(state).columns))
        two, (names, bins) = len(found.classes) == 2, found.lines()
        of_bin = {
            mark: f" ({names[0]} {line[0]})" if two else ""
            for mark, line in zip(_marks(found), bins, strict=False)
        }
        return self._part(
            "rows",
            state=state,
            header=header,
            outcomes=most_often(self.session.data(state), rows),
            lines=[_row(state, header, line, len(header) - columns) for line in lines],
            n=len(rows),
            first=first,
            bin=of_bin.get(state.bin),
            ranged=two,
        )

    def _classes(self, state: State, progress: Progress | None) -> str:
        found = self.session.ask(classwise, state, progress)
        header, lines = found.lines()
        of = [state.moved(lens=f"class:{line[0]}") for line in lines]
        alone = [
            replace(state, lens=f"class:{line[0]}", bins=0, other="")
            for line in lines[:MOST_SPARKS]
        ]
        diagrams = {one.lens[6:]: self.session.ask(reliability_diagram, one) for one in alone}
        return self._part(
            "classes",
            summary=capital(str(found)),
            worst=lines[0][0],
            why=self.session.ask(evaluate, alone[0], progress).verdicts[0].sentence,
            sparks=zip(sparks(diagrams)[0], of, strict=False),
            header=header,
            lines=_linked(lines, of),
            link=of[0],
        )

    def _groups(self, state: State, progress: Progress | None) -> str:
        if not self.session.settings(slices, state)["by"]:
            return self._part("groupless", columns=list(self.session.model(state).columns))
        found = self.session.ask(slices, replace(state, group=""), progress)
        parts = slices_parts(found, "groups")
        links = [state.moved(by=line[0], group=line[1], found="") for line in parts["slice_rows"]]
        parts["slice_rows"] = _linked(parts["slice_rows"], links, 1)
        return self._part("groups", **parts)

    def _where(self, state: State, progress: Progress | None) -> str:
        found = self.session.ask(search, state, progress)
        parts = where_parts(Where(found), "")
        lens = self.session.lens_name(state)
        links = [state.moved(found=f"{i}@{lens}") for i in range(1, len(found.rows) + 1)]
        if links and not state.found:
            parts |= {"sentences": found.sentences[:1], "rows": _linked(parts["rows"], links)}
        return self._part("where", **parts)

    def _when(self, state: State, _: Progress | None) -> str:
        found = time_parts(self.session.when(state), "time")
        return self._part("over_time" if found else "timeless", **found)

    def _code(self, state: State, _: Progress | None) -> str:
        return self._part(
            "code",
            state=state,
            python=code.python(self.session, state),
            below=code.below(self.session, state),
            command=code.command(self.session, state),
        )

    def _part(self, name: str, **values: Any) -> str:
        module = next(one for one in self._parts if hasattr(one, name))
        return str(getattr(module, name)(values))


def _linked(lines: Sequence[Sequence[str]], links: Sequence[str], at: int = 0) -> list[list[str]]:
    """Return lines of a table in which one cell of each is a link."""
    from markupsafe import Markup  # noqa: PLC0415

    form = Markup('<a data-go href="{}">{}</a>')
    return [
        [*line[:at], form.format(link, tables.visible(line[at])), *line[at + 1 :]]
        for line, link in zip(lines, links, strict=False)
    ]


def _row(state: State, header: Sequence[str], line: Sequence[Any], fixed: int) -> list[str]:
    """Return a line of the table of rows, in which names of pictures are pictures."""
    from markupsafe import Markup  # noqa: PLC0415

    picture = Markup('<img loading="lazy" alt="{}" src="image?{}">')
    long = Markup('<div class="long">{}</div>')
    number, *rest = line
    found = [f"{number:,}", *(f"{x:.4f}" if isinstance(x, float) else x for x in rest)]
    for i, text in enumerate(found):
        if i >= fixed and text.lower().endswith(tuple(IMAGES)):
            where = urlencode({"model": state.model, "row": number, "column": header[i]})
            found[i] = picture.format(tables.visible(text), where)
        elif len(text) > LONG:
            found[i] = long.format(tables.visible(text))
    return found


def _lenses(data: Predictions, default: str) -> dict[str, str]:
    """Return the lenses that are offered, by name, the default first."""
    if data.m == 2:
        return {"": f"P({data.classes[1]})", "top": "predicted class"}
    found = {"": "all classes"} if default == "canonical" else {}
    found |= {"top" if found else "": "predicted class"}
    found |= {f"top:{k}": f"top {k} classes" for k in range(2, min(4, data.m))}
    found |= {"pooled": "all classes pooled"}
    return found | {f"class:{name}": f"class {shown(name)}" for name in data.classes[:MOST_LENSES]}


def _offered(known: dict[str, str], chosen: str) -> dict[str, str]:
    """Return what is offered, with what was chosen by its address."""
    return known if chosen in known else known | {chosen: chosen}


def _chips(state: State, data: Predictions) -> list[tuple[str, int]]:
    """Return the classes with the group that each is in, for groups built by clicking."""
    if not 2 < data.m <= MOST_CHIPS:
        return []
    groups = state.lens.removeprefix("groups:").split("|") if "|" in state.lens else []
    places = {name: i for i, group in enumerate(groups) for name in group.split(",")}
    return [(name, places.get(name, 0)) for name in data.classes]


def look(state: State, found: ReliabilityDiagram) -> dict[str, Any]:
    """Return how a diagram is drawn: styles are for two outcomes, and bars for one model."""
    if len(found.classes) > 2:
        return {}
    style = "" if state.style == "bars" and len(found.series) > 1 else state.style
    chosen = {"style": style or None, "truth": lessons.truth(state)}
    return {name: value for name, value in chosen.items() if value is not None}


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


def score_lines(models: Mapping[str, Predictions]) -> tables.Lines | None:
    """Return header and lines of the scores of models, side by side; None for one model."""
    if len(models) < 2:
        return None
    scores = [all_scores(data) for data in models.values()]
    names = [name for name in scores[0] if name != "spherical_score"]
    lines = [[score_name(name), *(decimal(one[name]) for one in scores)] for name in names]
    return ["score", *models], lines


def most_often(data: Predictions, rows: Any) -> str:
    """Return the outcomes of some rows, the most frequent first."""
    counts = np.bincount(data.labels[rows], minlength=data.m)
    most = np.argsort(-counts, kind="stable")[:MOST_OUTCOMES]
    shares = {data.classes[j]: counts[j] / len(rows) for j in most if counts[j]}
    if (others := 1 - sum(shares.values())) > 1e-9:
        shares["others"] = others
    return ", ".join(f"{name} {percent(round(share, 2))}" for name, share in shares.items())


def row_table(session: Session, state: State, rows: Any) -> tuple[list[str], list[list[Any]]]:
    """Return header and values of some rows, with the first columns of the file."""
    data, numbers = session.data(state), session.rows(state)
    columns = list(data.columns)[:MOST_COLUMNS]
    said = [f"P({data.classes[1]})"] if data.m == 2 else ["predicted", "confidence"]
    lines = []
    for row in rows:
        probs, label = data.probs[row], data.labels[row]
        top = int(probs.argmax())
        values = [int(numbers[row]), data.classes[label], float(probs[label])]
        values += [float(probs[1])] if data.m == 2 else [data.classes[top], float(probs[top])]
        lines.append([*values, *(str(data.columns[name][row]) for name in columns)])
    return ["row, from 0", "outcome", "P(outcome)", *said, *columns], lines
