"""Rows with dates: watched in their order, by periods, in the report and beside groups."""

import numpy as np
import pytest
from command import run

import calibrant as cal
from calibrant.monitor.periods import dates_of, over_time, unit_of


@pytest.fixture
def dated(tmp_path):
    """Return a file whose predictions are too high from September on, in no order."""
    rng = np.random.default_rng(0)
    days = np.datetime64("2026-01-01") + np.arange(6000) * 365 // 6000
    p = rng.random(6000)
    late = days >= np.datetime64("2026-09-01")
    y = (rng.random(6000) < np.where(late, p**2, p)).astype(int)
    order = rng.permutation(6000)
    rows = [f"{y[i]},{float(p[i])!r},{days[i]}\n" for i in order]
    path = tmp_path / "dated.csv"
    path.write_text("label,prob,date\n" + "".join(rows))
    return path


def test_columns_of_dates_are_known():
    days = np.array(["2026-01-31", "2026-02-01T10:30", "2026-03"])
    assert dates_of({"group": np.array(["a", "b", "c"]), "when": days})[0] == "when"
    assert dates_of({"when": np.array(["2026-13-01", "2026-01-01"])}) is None
    assert dates_of({"when": np.array(["2026", "2027"])}) is None
    assert dates_of({"age": np.array(["40", None, "50"], object), "when": days})[0] == "when"
    assert dates_of({}) is None


def test_times_of_one_zone_are_as_written_and_those_of_several_universal():
    for zone in ("Z", "+02:00", "-0530"):
        _, found = dates_of({"when": [f"2026-03-29T00:30:00{zone}", f"2026-03-29 03:00{zone}"]})
        assert found.astype(str).tolist() == ["2026-03-29T00:30:00", "2026-03-29T03:00:00"]
    texts = ["2026-10-25T02:30:00+02:00", "2026-10-25 02:10:00+0100", "2026-10-25T02:10:00-05:30"]
    _, found = dates_of({"when": texts})
    universal = ["2026-10-25T00:30:00", "2026-10-25T01:10:00", "2026-10-25T07:40:00"]
    assert found.astype(str).tolist() == universal


def test_periods_are_days_months_or_years():
    first = np.datetime64("2026-01-01", "s")
    for days, unit in ((10, "D"), (300, "M"), (4000, "Y")):
        assert unit_of(np.array([first, first + np.timedelta64(days, "D")])) == unit


def test_rows_are_watched_in_the_order_of_their_dates(dated):
    found = over_time(cal.load(dated, keep="date"))
    assert found.column == "date"
    assert sum(period.n for period in found.periods) == found.monitor.n == 6000
    assert [period.name for period in found.periods] == [f"2026-{k:02}" for k in range(1, 13)]
    assert found.monitor.alarm is not None or found.monitor.change is not None
    low, high = (found.dates[row] for row in found.monitor.since_interval)
    assert low <= np.datetime64("2026-09-01") <= high
    assert "most likely since 2026-" in found.sentence
    assert found.periods[-1].bias > 0.05
    assert abs(found.periods[0].bias) < 0.1
    texts = {period.name: period.found for period in found.periods}
    started = str(found.dates[found.monitor.since])[:7]
    assert "most likely start" in texts[started]
    first = min(row for row in (found.monitor.alarm, found.monitor.change) if row is not None)
    assert texts[str(found.dates[first])[:7]].endswith(("alarm", "change detected"))
    assert texts["2026-01"] == ""
    ticks = found.picture().frame.above
    assert [at for at, _ in ticks] == [0, 1200, 2400, 3600, 4800]
    assert ticks[0][1] == "2026-01"


def test_rows_without_dates_or_with_weights_are_not_watched():
    data = cal.Predictions([0.2, 0.7], [0, 1])
    assert over_time(data) is None


def test_the_report_has_a_section_over_time(dated, tmp_path):
    page = tmp_path / "report.html"
    found = run("report", dated, "--by", "date", "--resamples", "19", "-o", page)
    assert found.exit_code == 0, found.output
    text = page.read_text("utf-8")
    assert "Over time" in text
    assert "Watched in the order of date, 2026-01-01 to 2026-12-31" in text
    assert "Its 5&nbsp;% are its own" in text


def test_groups_by_date_say_what_looking_again_means(dated):
    found = run("evaluate", dated, "--by", "date", "--resamples", "19")
    assert "calibrant watch for rows that are still to come" in " ".join(found.output.split())
