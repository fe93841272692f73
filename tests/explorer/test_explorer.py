"""What the explorer answers: the numbers of the library, to those who know its token."""

import csv
import io
import re
import subprocess
import sys
import threading
from contextlib import contextmanager
from dataclasses import replace
from html import escape, unescape
from http.client import HTTPConnection
from time import sleep
from urllib.parse import urlsplit

import numpy as np
import polars as pl
import pytest
from explorer.opened import QUICK, explorer, get, hostile, text, written
from hypothesis import given
from hypothesis import strategies as st
from models import EVIL, tempered

import calibrant as cal
from calibrant.explorer import code
from calibrant.explorer.pages import Pages
from calibrant.explorer.server import AT_ONCE, Explorer
from calibrant.explorer.session import (
    MOST_ANSWERS,
    MOST_SELECTIONS,
    Answers,
    Session,
)
from calibrant.explorer.state import State
from calibrant.monitor.periods import over_time
from calibrant.words import pvalue

DRAWS = {**QUICK, "rng": 0}


@pytest.fixture(scope="module")
def ward(tmp_path_factory):
    """Open a file with columns, as the tool does."""
    file = written(tmp_path_factory.mktemp("ward"))
    data = cal.load(file, keep=["shift", "age", "note"])
    page = Explorer(Session({"ward": data}, [file], 99), "ward", images=file.parent).start()
    yield page
    page.close()


@pytest.fixture(scope="module")
def models():
    """Open two models of ten classes."""
    page = explorer({"calibrated": tempered(900, 10), "sure": tempered(900, 10, 2.0)})
    yield page
    page.close()


@given(
    st.builds(
        State,
        model=st.text(max_size=5),
        lens=st.text(max_size=9),
        bins=st.integers(0, 50),
        mass=st.booleans(),
        style=st.sampled_from(["", "line", "bars"]),
        region=st.text(max_size=9),
        bin=st.integers(-1, 40),
        low=st.floats(0, 0.5),
        high=st.floats(0.5, 1),
        tab=st.sampled_from(["bins", "rows", "classes", "groups", "code"]),
    )
)
def test_an_address_holds_the_whole_state(state):
    from urllib.parse import parse_qsl

    given_back = dict(parse_qsl(state.query()[1:], keep_blank_values=True))
    assert State.of(given_back) == state


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ({"bins": "51"}, "bins must be between 0 and 50; found 51"),
        ({"bins": "many"}, "bins must be a number"),
        ({"style": "pie"}, "style must be one of '', 'line', 'bars'; found 'pie'"),
        ({"low": "0.9", "high": "0.1"}, "low and high must be in order"),
        ({"low": "nan"}, "low must be between 0 and 1; found nan"),
        ({"tab": "x"}, "tab must be one of 'bins'"),
        ({"lens": "x" * 3000}, "lens is too long"),
        ({"lens": "class:fish"}, "lens must be a class of the data"),
        ({"region": "dog is 1"}, "region must be conditions"),
        ({"region": "1 > 2"}, "No row is left"),
        ({"model": "none"}, "model must be one of"),
        ({"by": "sex", "group": "x"}, "by must be one of"),
        ({"by": "shift", "group": "x"}, "group must be one of"),
        ({"statistic": "luck"}, "statistic must be"),
        ({"repair": "magic"}, "method must be temperature"),
    ],
)
def test_what_means_nothing_is_refused_in_a_sentence(ward, query, told):
    where = "panel/diagram?" + "&".join(f"{k}={v}" for k, v in query.items())
    status, _, body = get(ward, where)
    assert status == 400
    assert told in body.decode()


def test_strangers_are_refused(ward):
    address = ward.address
    token = address.rstrip("/").rpartition("/")[2]
    for path in ("/", "/wrong/", f"/{token[:-1]}/", "/" + "%00" * 9):
        assert get(ward, path=path)[0] == 403
    for headers in (
        {"Host": "evil.example"},
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "cross-site"},
    ):
        assert get(ward, headers=headers)[0] == 403
    assert get(ward, headers={"Host": f"localhost:{ward.server.server_port}"})[0] == 200


def test_answers_forbid_what_a_page_does_not_need(ward):
    _, headers, body = get(ward)
    policy = headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "unsafe-inline" not in policy.partition("script-src")[2].partition(";")[0]
    assert headers["Referrer-Policy"] == "no-referrer"
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert b"http://" not in body.replace(b"http://www.w3.org", b"")
    assert b"https://" not in body


def test_names_and_texts_are_never_markup():
    page = explorer({EVIL[0]: hostile(), EVIL[1]: hostile()}, title=EVIL[2])
    try:
        for where in ("", "panel/below?tab=classes", "panel/below?tab=rows", "panel/verdict"):
            found = text(page, where)
            assert not any(name in found for name in EVIL[:3])
            assert "<script>alert" not in found
    finally:
        page.close()


def test_columns_are_never_markup(ward):
    found = text(ward, "panel/below?tab=rows")
    assert "&lt;script&gt;alert" in found
    assert "<script>" not in found
    assert not any(name in text(ward, "panel/below?tab=groups&by=note") for name in EVIL[:3])


@pytest.mark.parametrize(
    ("query", "settings"),
    [
        ("?", {"lens": "top"}),
        ("?lens=class:3&bins=7", {"lens": "class:3", "partition": "width:7"}),
        ("?lens=class:3&bins=7&mass=1", {"lens": "class:3", "partition": "mass:7"}),
        ("?lens=groups:0-2|3-5|6-9", {"lens": "groups:0-2|3-5|6-9"}),
        ("?lens=top:2", {"lens": "top:2"}),
        ("?lens=pooled", {"lens": "pooled"}),
    ],
)
def test_bins_are_those_of_the_library(models, query, settings):
    data = tempered(900, 10)
    diagram = cal.reliability_diagram(data, **settings, **DRAWS)
    lines = list(csv.DictReader(io.StringIO(text(models, f"bins.csv{query}"))))
    records = diagram.records()
    assert len(lines) == len(records)
    for line, record in zip(lines, records, strict=True):
        assert {name: float(line[name]) for name in ("predicted", "adjusted_pvalue")} == {
            name: record[name] for name in ("predicted", "adjusted_pvalue")
        }
    assert diagram.sentence in unescape(text(models, f"panel/diagram{query}"))
    assert diagram.figure().svg in text(models, f"figure.svg{query}")


def test_the_verdict_is_that_of_the_library(models):
    found = cal.evaluate(tempered(900, 10), lenses="class:3", **DRAWS)
    assert found.verdicts[0].sentence in unescape(text(models, "panel/verdict?lens=class:3"))


@pytest.mark.parametrize(
    ("query", "statistic"),
    [
        ("lens=class:3", "ece:15"),
        ("lens=class:3&bins=7&statistic=mce", "mce:7"),
        ("lens=class:3&statistic=kolmogorov", "kolmogorov"),
        ("lens=top:2&statistic=worst-class", "worst-class"),
    ],
)
def test_a_statistic_is_picked(models, query, statistic):
    lens = query.partition("&")[0].removeprefix("lens=")
    found = cal.calibration_test(tempered(900, 10), statistic, lens=lens, **DRAWS)
    shown = unescape(text(models, f"panel/diagram?{query}"))
    assert f"these data: {found.statistic:.4g}" in shown
    assert pvalue(found.pvalue, 99) in shown


def test_two_models_are_compared(models):
    both = {"calibrated": tempered(900, 10), "sure": tempered(900, 10, 2.0)}
    found = cal.compare(both, lenses="top", **DRAWS)
    assert str(found).splitlines()[0] in unescape(text(models, "panel/verdict?other=sure"))
    diagram = cal.reliability_diagram(both, lens="top", **DRAWS)
    assert diagram.sentence in unescape(text(models, "panel/diagram?other=sure"))


def test_two_models_are_compared_on_the_same_rows(models):
    """Those whose prediction of the shown model is in the region."""
    first, second = tempered(900, 10), tempered(900, 10, 2.0)
    rows = first.probs[:, 3] > 0.2
    both = {"calibrated": first.restrict(rows), "sure": second.restrict(rows)}
    found = unescape(text(models, "panel/verdict?other=sure&region=3 > 0.2"))
    compared = cal.compare(both, lenses="top", **DRAWS)
    assert all(line in found for line in str(compared).splitlines())
    shown = unescape(text(models, "panel/diagram?other=sure&region=3 > 0.2"))
    for score in (cal.log_score, cal.accuracy):
        cells = "".join(rf"<td[^>]*>{score(data):.4f}</td>" for data in both.values())
        assert re.search(cells, shown)


def test_all_columns_of_few_groups_are_looked_at(ward):
    """Texts that differ from row to row make no groups."""
    data = ward.session.models["ward"]
    found = unescape(text(ward, "panel/below?tab=groups"))
    by = [name for name in data.columns if len(set(data.columns[name])) <= 12 or name == "age"]
    assert str(cal.slices(data, by, lens="canonical", **DRAWS)) in found
    assert re.findall(r'href="\?by=shift&group=(\w+)', found) == ["day", "night"]
    assert cal.slices(data, ["shift"], lens="canonical", **DRAWS).rows[0].group == "day"


def test_a_region_that_was_found_is_looked_at(ward):
    data = ward.session.models["ward"]
    region = cal.search(data, lens="canonical", **DRAWS)[0]
    link = re.search(r'href="(\?found=[^"]*)"', text(ward, "panel/below?tab=where"))[1]
    shown = unescape(text(ward, f"panel/diagram{unescape(link)}"))
    assert f"{region.n} rows where {region.conditions}" in shown
    alone = cal.reliability_diagram(data.restrict(region.mask), **DRAWS)
    assert alone.sentence in shown
    assert f">{escape(region.conditions)}</option>" in text(ward, f"panel/controls{unescape(link)}")
    assert get(ward, "panel/diagram?found=99@canonical")[0] == 400


def test_what_occurred_in_rows_is_told(models):
    data = tempered(900, 10, 2.0)
    counts = np.bincount(data.labels, minlength=10)
    share = round(100 * counts.max() / 900)
    assert f"Outcomes: {counts.argmax()} {share}" in text(models, "panel/below?model=sure&tab=rows")


def test_before_and_after_a_calibrator(models):
    data = tempered(900, 10, 2.0)
    after = cal.recalibrate(data, [cal.recalibration.Temperature()], rng=0)
    both = {"as it is": data, "after temperature": after.predictions("temperature")}
    diagram = cal.reliability_diagram(both, lens="top", **DRAWS)
    found = text(models, "panel/diagram?model=sure&repair=temperature")
    assert diagram.sentence in unescape(found)


@pytest.mark.parametrize(
    "query",
    [
        "?",
        "?lens=top&bins=15",
        "?statistic=cox&by=shift&group=night",
        "?by=shift&group=night",
        "?by=age&group=GROUP&region=1 > 0.2 and max < 0.95",
        "?repair=beta&region=1 > 0.1",
        "?found=1@canonical&region=1 < 0.8",
    ],
)
def test_the_program_reproduces_what_is_shown(ward, tmp_path, query):
    ages = text(ward, "panel/controls?by=age")
    groups = re.findall(r'<option value="(\d+ to \d+)"', ages)
    query = query.replace("GROUP", groups[1])
    program = re.search(
        r'<pre tabindex="0" id="python">(.*?)</pre>',
        text(ward, f"panel/below{query}&tab=code"),
        re.S,
    )
    ran = subprocess.run(
        [sys.executable, "-c", unescape(program[1])],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    shown, verdict, *_ = ran.stdout.splitlines()
    assert shown in unescape(text(ward, f"panel/diagram{query}"))
    assert verdict in unescape(text(ward, f"panel/verdict{query}"))


def test_what_is_under_the_diagram_is_reproduced(ward, tmp_path):
    query = "region=1 > 0.1"
    page = text(ward, f"panel/below?{query}&tab=code")
    found = re.findall(r'<pre tabindex="0"[^>]*>(.*?)</pre>', page, re.S)
    words = [sys.executable, "-c", unescape("\n".join(found[:2]))]
    ran = subprocess.run(words, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert ran.returncode == 0, ran.stderr
    groups = re.search(
        r"<p>(.* groups are .*)\.</p>", text(ward, f"panel/below?{query}&tab=groups")
    )
    assert unescape(groups[1]) in ran.stdout
    regions = cal.search(ward.session.data(State(region="1 > 0.1")), lens="canonical", **DRAWS)
    assert ran.stdout.strip().endswith(str(regions))
    shown = unescape(text(ward, f"panel/below?{query}&tab=where"))
    assert regions.sentences[0] in shown


def test_the_demo_is_reproduced(tmp_path):
    """As a program, and as commands that write the networks first."""
    networks = {"resnet": cal.datasets.cifar10("resnet"), "lenet": cal.datasets.cifar10("lenet")}
    session = Session(networks, n_resamples=19, demo=True)
    state = State(other="lenet", lens="top")
    found = {}
    program = code.python(session, state).replace("import calibrant as cal", "", 1)
    exec(program, {"cal": cal, "print": lambda shown: found.setdefault(len(found), str(shown))})
    assert found[0] == session.ask(cal.reliability_diagram, state).sentence
    assert found[1] == str(session.ask(cal.compare, state))
    for line in code.command(session, State()).splitlines()[:2]:
        words = [sys.executable, "-m", *line.split()]
        ran = subprocess.run(words, capture_output=True, text=True, cwd=tmp_path, check=False)
        assert ran.returncode == 0, ran.stderr
    verdict = session.ask(cal.evaluate, State()).verdicts[0].sentence
    assert " ".join(verdict.split()) in " ".join(ran.stdout.split())


def test_the_command_reproduces_the_verdict(ward, tmp_path):
    found = text(ward, "panel/below?lens=top&tab=code")
    command = unescape(re.search(r'id="command">(.*?)</pre>', found, re.S)[1]).splitlines()[0]
    words = [sys.executable, "-m", *command.split()]
    ran = subprocess.run(words, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert ran.returncode == 0, ran.stderr
    sentence = unescape(
        re.search(r'class="verdict[^"]*">(.*?)</p>', text(ward, "panel/verdict?lens=top"))[1]
    )
    assert sentence.split(":")[0] in " ".join(ran.stdout.split())


def test_rows_of_a_mark_are_those_of_its_bin(ward):
    data = cal.load(ward.session.files[0])
    diagram = cal.reliability_diagram(data, **DRAWS)
    for j in range(diagram.series[0].function.n_cells):
        _, *lines = csv.reader(io.StringIO(text(ward, f"rows.csv?bin={j}")))
        assert len(lines) == int(diagram.series[0].function.mass[j])
        outcomes = [float(line[2]) for line in lines]
        assert outcomes == sorted(outcomes)
        for number, outcome, likely, said, *_ in lines[:20]:
            assert int(outcome) == data.labels[int(number)]
            assert float(likely) == data.probs[int(number), int(outcome)]
            assert float(said) == data.probs[int(number), 1]


def test_a_range_of_predictions(ward):
    data = cal.load(ward.session.files[0])
    _, *lines = csv.reader(io.StringIO(text(ward, "rows.csv?low=0.2&high=0.4")))
    p = data.probs[:, 1]
    assert len(lines) == int(((p >= 0.2) & (p <= 0.4)).sum())


def test_only_pictures_of_the_folder_are_sent(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.png").write_bytes(b"\x89PNG")
    (tmp_path / "in" / "secret.txt").write_text("x")
    (tmp_path / "out.png").write_bytes(b"out")
    (tmp_path / "in" / "link.png").symlink_to(tmp_path / "out.png")
    names = ["a.png", "../out.png", str(tmp_path / "out.png"), "secret.txt", "link.png", "none.png"]
    (tmp_path / "in" / "round.png").symlink_to("round.png")
    names.append("round.png")
    file = tmp_path / "p.csv"
    file.write_text(
        "prob,label,image\n" + "".join(f"0.{i + 1},{i % 2},{n}\n" for i, n in enumerate(names))
    )
    page = explorer(cal.load(file, keep="image"), images=tmp_path / "in")
    try:
        found = [get(page, f"image?column=image&row={i}")[0] for i in range(len(names))]
        assert found == [200, 404, 404, 404, 404, 404, 404]
        assert get(page, "image?column=none&row=0")[0] == 400
        assert get(page, "image?column=image&row=999")[0] == 400
    finally:
        page.close()


def test_pictures_and_a_report_are_files(ward):
    status, headers, body = get(ward, "figure.png?style=bars")
    assert status == 200
    assert body.startswith(b"\x89PNG")
    assert "attachment" in headers["Content-Disposition"]
    found = text(ward, "report.html?by=shift&group=night")
    assert "Calibration report" in found
    assert get(ward, "nothing")[0] == get(ward, "panel/nothing")[0] == 404


def test_a_report_is_that_of_the_library(models, tmp_path):
    """It has the groups of classes and the region that were chosen."""
    data, region = tempered(900, 10), "1 > 0.1"
    some = data.restrict(data.probs[:, 1] > 0.1)
    groups = "groups:0-2|3-5|6-9"
    path = cal.report(some, tmp_path / "r.html", groups=groups, region=region, **DRAWS)
    assert text(models, f"report.html?lens={groups}&region={region}") == path.read_text("utf-8")


@contextmanager
def slow(monkeypatch, steps=200):
    """Let verdicts take a while; yield how many steps of them were done."""
    done = []

    def work(_, __, progress):
        for i in range(steps):
            sleep(0.02)
            if progress is not None:
                progress(i, steps)
            done.append(i)
        return "the verdict"

    with monkeypatch.context() as patched:
        patched.setattr(Pages, "verdict", work)
        yield done


def test_work_that_nobody_waits_for_ends(models, monkeypatch):
    """A browser closes the connection when somebody asks something else, or closes the tab."""
    address = urlsplit(models.address)
    with slow(monkeypatch) as done:
        connection = HTTPConnection(address.hostname, address.port, timeout=60)
        connection.request("GET", address.path + "panel/verdict?live=1")
        while len(done) < 3:
            sleep(0.01)
        connection.close()
        sleep(0.3)
        ended = len(done)
        sleep(0.3)
        assert len(done) == ended < 100
    assert "No evidence" in text(models, "panel/verdict")


def test_long_work_says_how_far_it_is(models, monkeypatch):
    with slow(monkeypatch, 80):
        *shares, verdict = text(models, "panel/verdict?live=1").split("\n")
        assert verdict == text(models, "panel/verdict") == "the verdict"
    found = [float(re.fullmatch(r'<progress .*value="(.*)"></progress>', one)[1]) for one in shares]
    assert 1 <= len(found) <= 4
    assert found == sorted(found)
    assert 0 < found[-1] < 1


def test_what_fails_later_is_a_sentence_in_its_place(models, monkeypatch):
    def fail(_, __, progress):
        sleep(0.8)
        progress(1, 2)
        raise MemoryError

    monkeypatch.setattr(Pages, "verdict", fail)
    *_, last = text(models, "panel/verdict?live=1").split("\n")
    assert last == '<p class="trouble" role="alert">There is not enough memory for this.</p>'


def test_many_who_ask_the_same_wait_for_one():
    answers, calls, begun = Answers(MOST_ANSWERS), [], threading.Barrier(8)

    def left():
        raise ConnectionAbortedError

    def work():
        calls.append(1)
        return len(calls)

    def ask(found):
        begun.wait()
        found.append(answers.get("question", work))

    with pytest.raises(ConnectionAbortedError):  # who waited for it works it out instead
        answers.get("question", left)
    found = []
    threads = [threading.Thread(target=ask, args=(found,)) for _ in range(8)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert found == [1] * 8
    for i in range(3 * MOST_ANSWERS):
        answers.get(i, lambda i=i: i)
    assert len(answers._found) == MOST_ANSWERS


def at_once(page, questions):
    """Ask from as many threads as there are questions; return the statuses."""
    found = []
    threads = [
        threading.Thread(target=lambda one: found.append(get(page, one)[0]), args=(one,))
        for one in questions
    ]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    return found


def test_two_hundred_at_once(models, monkeypatch):
    """Few threads work for all of them: memory that one frees, the next one uses again."""
    threads, diagram = set(), Pages.diagram

    def watched(*given):
        threads.add(threading.get_ident())
        return diagram(*given)

    monkeypatch.setattr(Pages, "diagram", watched)
    found = at_once(models, [f"panel/diagram?lens=class:{i % 10}" for i in range(200)])
    assert found == [200] * 200
    assert len(threads) <= AT_ONCE


def test_a_port_in_use_gets_the_next_one(models):
    port = models.server.server_port
    other = explorer([0.2, 0.8], labels=[0, 1], port=port)
    try:
        assert port < other.server.server_port < port + 20
    finally:
        other.close()


def test_what_is_closed_answers_nobody():
    page = explorer([0.2, 0.8, 0.4, 0.9] * 5, labels=[0, 1, 0, 1] * 5)
    address = urlsplit(page.address)
    connection = HTTPConnection(address.hostname, address.port, timeout=60)
    connection.request("GET", address.path + "panel/controls")
    assert connection.getresponse().read()
    page.close()
    with pytest.raises(OSError, match="refused"):
        connection.request("GET", address.path + "panel/controls")


def test_refusals():
    with pytest.raises(ValueError, match="must have the same classes; 'b' has others than 'a'"):
        explorer({"a": tempered(50, 3), "b": tempered(50, 4)})
    with pytest.raises(ValueError, match="cannot be listened to"):
        explorer([0.2, 0.8], labels=[0, 1], host="203.0.113.1")
    with pytest.raises(TypeError, match="Predictions"):
        explorer({"a": 1})


def test_a_notebook_shows_the_page(models):
    assert models.address in models._repr_html_()
    assert models.address in repr(models)


def test_before_and_after_are_judged_each(models):
    data = tempered(900, 10, 2.0)
    after = cal.recalibrate(data, [cal.recalibration.Temperature()], rng=0)
    both = data, after.predictions("temperature")
    shown = unescape(text(models, "panel/verdict?model=sure&repair=temperature"))
    for name, one in zip(("As it is", "After temperature"), both, strict=True):
        sentence = cal.evaluate(one, lenses="top", **DRAWS).verdicts[0].sentence
        assert f"{name}: {sentence}" in shown


@pytest.mark.parametrize("lens", ["class:3", "groups:0-2|3-5|6-9"])
def test_the_worst_bin_leads_to_its_rows(models, lens):
    data = tempered(900, 10, 2.0)
    records = cal.reliability_diagram(data, lens=lens, **DRAWS).records()
    least = min(records, key=lambda one: (one["adjusted_pvalue"], -abs(one["deviation"])))
    found = text(models, f"panel/diagram?model=sure&lens={lens}")
    link = re.search(r'href="(\?[^"]*)">Rows of the worst bin', found)[1]
    assert f"{least['n']:,} rows in bin" in text(models, f"panel/below{unescape(link)}")
    other = text(models, f"panel/diagram?other=sure&lens={lens}")
    assert ("worst bin" in other) == ("groups" in lens)


def test_the_class_that_is_furthest_off_is_named(models):
    found = cal.classwise(tempered(900, 10, 2.0), **DRAWS)
    worst = found.classes[found.ranked[0]]
    shown = text(models, "panel/below?model=sure&tab=classes")
    assert re.search(rf"Furthest off[^.]*lens=class%3A{worst}&[^.]*>{worst}</a>", shown)


def test_a_file_that_changes_or_disappears_changes_nothing(tmp_path):
    file = written(tmp_path)
    (tmp_path / "a.png").write_bytes(b"\x89PNG")
    page = Explorer(Session({"ward": cal.load(file, keep=["shift"])}, [file], 99), "ward").start()
    try:
        before = text(page, "bins.csv")
        file.write_text("prob,label\n0.5,1\n")
        assert text(page, "bins.csv?bins=15") != before == text(page, "bins.csv")
        file.unlink()
        assert text(page, "panel/below?tab=groups&by=shift")
        assert len(text(page, "rows.csv?bins=7").splitlines()) == 901
    finally:
        page.close()


def test_a_thousand_classes():
    page = explorer(tempered(2000, 1000, 2.0), n_resamples=19)
    try:
        for where in ("", "panel/verdict", "panel/below?tab=classes", "panel/diagram?lens=class:7"):
            assert len(text(page, where)) < 1_000_000
        assert '"chip' not in text(page)
    finally:
        page.close()


def test_where_and_when_are_those_of_the_library(tmp_path):
    file = written(tmp_path, n=400)
    days = [f"2026-{1 + i // 100:02d}-{1 + i % 28:02d}" for i in range(400)]
    pl.read_csv(file).with_columns(pl.Series("day", days)).write_csv(file)
    data = cal.load(file, keep=["shift", "day"])
    page = explorer(data)
    try:
        found = cal.search(data, **DRAWS)
        shown = unescape(text(page, "panel/below?tab=where"))
        assert all(sentence in shown for sentence in found.sentences)
        assert over_time(data).sentence in unescape(text(page, "panel/below?tab=when"))
        printed = []
        program = re.findall(r"<pre[^>]*>(.*?)</pre>", text(page, "panel/below?tab=code"), re.S)[1]
        exec(unescape(program), {"cal": cal, "data": data, "print": printed.append})
        assert str(printed[-2]) == str(found)
        assert printed[-1] == over_time(data).sentence
    finally:
        page.close()


@pytest.mark.parametrize("by", ["day", "age"])
def test_rows_of_a_period_or_a_quartile_are_reproduced(tmp_path, by):
    """Neither names thousands of values in the program."""
    file = written(tmp_path)
    times = [
        f"2026-{1 + i % 12:02d}-{1 + i % 28:02d}T{i % 24:02d}:{i % 60:02d}" for i in range(900)
    ]
    pl.read_csv(file).with_columns(pl.Series("day", times)).write_csv(file)
    session = Session({"ward": cal.load(file, keep=[by])}, [file], 99)
    grouped = session.grouped(State(by=by))
    for group in grouped.names:
        inside = grouped.inside(group)
        program = code.python(session, State(by=by, group=group))
        assert len(program) < 1000
        *reading, _ = program.partition("diagram =")[0].splitlines()
        found = {}
        exec("\n".join(reading), found)
        assert (found["rows"] == inside).all()


def test_selected_rows_are_kept_for_the_latest_questions(ward):
    session = Session(ward.session.models, n_resamples=99)
    for i in range(3 * MOST_SELECTIONS):
        assert session.data(State(region=f"1 > 0.{i:02d}")).n > 0
    assert len(session._selections._found) == MOST_SELECTIONS


def test_what_does_not_change_an_answer_is_not_asked_again(ward, models):
    """The verdict does not depend on bins, nor on a column by which nobody has chosen a group."""
    session = ward.session
    known = session.ask(cal.evaluate, State(lens="top"))
    for state in (State(bins=7), State(by="shift"), State(statistic="cox", tab="rows", low=0.3)):
        assert session.ask(cal.evaluate, replace(state, lens="top")) is known
    assert session.ask(cal.evaluate, State(lens="top", by="shift", group="day")) is not known
    together = models.session.ask(cal.reliability_diagram, State(lens="top", other="sure"))
    assert models.session.ask(cal.reliability_diagram, State(lens="top")) is not together


def test_a_model_is_not_compared_with_itself(models):
    for query in ("other=calibrated", "model=sure&other=sure"):
        alone = text(models, f"panel/verdict?{query.partition('other')[0]}")
        assert text(models, f"panel/verdict?{query}") == alone


def test_rows_without_dates_have_no_when(ward):
    assert "has no column of dates" in text(ward, "panel/below?tab=when")
