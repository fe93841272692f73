"""Groups of scanned rows by a column of the files, scores, and a report on them."""

import json
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from folders import predictions, rows_of, table, write

import calibrant as cal
from calibrant.distances import total_variation
from calibrant.inference.replicates.problem import Plan
from calibrant.inference.verdicts.evaluation import judged
from calibrant.inference.verdicts.judging import sizes_of
from calibrant.lenses import TopLabel
from calibrant.partitions import EqualWidth
from calibrant.resampling import Exact
from calibrant.rows import passes
from calibrant.statistics import ExpectedMiscalibration

N = 900
SEX = np.where(np.arange(N) % 3 == 0, "female", "male")
WARD = (np.arange(N) ** 2 % 7).astype(object)  # 0, 1, 2 and 4, and missing ones
WARD[::90] = None
SURE = np.arange(N) % 2 == 0
ON_CELLS = [ExpectedMiscalibration(EqualWidth(k), total_variation) for k in (1, 15)]


@pytest.fixture(scope="module", params=[False, True], ids=["", "weighted"])
def both(request, tmp_path_factory):
    """Return rows in memory, and a scan of them that keeps three columns."""
    rows = rows_of(N, 5, weighted=request.param)
    whole = table(*rows)
    for name, values in (("sex", SEX), ("ward", WARD.tolist()), ("sure", SURE)):
        whole = whole.append_column(name, pa.array(values))
    folder = write(tmp_path_factory.mktemp("groups"), whole, (100, 700), 130)
    return predictions(*rows), cal.scan(folder).keeping(["sex", "ward", "sure"])


def test_groups_are_tested_as_those_in_memory(both):
    """The same statistics of the same rows, with the labels that these have in the whole."""
    data, scan = both
    found = cal.slices(scan, ["sex", "ward"], least=200, n_resamples=39, rng=4)
    small = np.isin(WARD.astype(str), ["0", "None"])
    masks = [SEX == "female", SEX == "male"]
    masks += [(WARD.astype(str) == ward) & ~small for ward in ("1", "2", "4")] + [small]
    names = ["female", "male", "1", "2", "4", "others"]
    assert [(row.group, row.n) for row in found.rows] == [
        (name, int(mask.sum())) for name, mask in zip(names, masks, strict=True)
    ]
    plan = Plan(Exact(), 39, 4)
    problems = [plan.look(data.weighted_by(mask), TopLabel()) for mask in masks]
    verdicts = judged(problems, ON_CELLS, plan, sizes_of(problems)).verdicts
    assert [row.verdict.pvalue for row in found.rows] == [one.pvalue for one in verdicts]
    for row, verdict in zip(found.rows, verdicts, strict=True):
        assert row.verdict.bias == pytest.approx(verdict.bias, abs=1e-13)
        assert row.verdict.bias_interval == pytest.approx(verdict.bias_interval, rel=1e-6)
        assert row.verdict.interval[0] <= row.verdict.size <= row.verdict.interval[1]
        assert "root mean square" in row.verdict.sentence


def test_all_groups_and_lenses_are_read_in_three_passes(both, monkeypatch):
    """One counts the rows of groups, one adds up their cells, and one draws labels."""
    _, scan = both
    _ = scan.largest_weight  # which takes a pass of its own, once, if there are weights
    passes = []
    reduce = type(scan.workers).reduce

    def counted(workers, *arguments):
        passes.append(1)
        return reduce(workers, *arguments)

    monkeypatch.setattr(type(scan.workers), "reduce", counted)
    found = cal.slices(scan, ["sex", "sure"], n_resamples=199, rng=4)
    assert all(row.verdict.rejected for row in found.rows)
    assert len(passes) == 3
    passes.clear()
    cal.evaluate(scan, n_resamples=9, rng=4)
    assert len(passes) == 2


def test_columns_are_kept_as_load_keeps_them(both):
    _, scan = both
    kept = scan.load().columns
    assert kept["sex"].tolist() == SEX.tolist()
    assert kept["ward"].tolist() == [str(ward) for ward in WARD]
    assert kept["sure"].tolist() == ["true" if one else "false" for one in SURE]
    assert scan.reading.kept == ("sex", "ward", "sure")


def test_columns_that_not_all_files_have(tmp_path):
    whole = table(*rows_of(60, 3))
    write(tmp_path / "a", whole.append_column("sex", pa.array(["f"] * 60)), ())
    write(tmp_path / "b", whole, ())
    with pytest.raises(ValueError, match=r"column 'sex' must be in all files; row 0 of part-000"):
        cal.slices(cal.scan(tmp_path), "sex", n_resamples=9)


def test_folders_that_name_groups(tmp_path):
    """As Spark and others write them; a column of the file goes before."""
    rows = rows_of(300, 3)
    whole = table(*rows)
    write(tmp_path / "site=St.%20Mary" / "day=1", whole.slice(0, 80), (30,))
    write(tmp_path / "site=St.%20Mary" / "day=2", whole.slice(80, 100), ())
    write(tmp_path / "site=north" / "day=1", whole.slice(180), ())
    scan = cal.scan(tmp_path)
    assert set(scan.reading.left_out) == {"site", "day"}
    found = cal.slices(scan, ["site", "day"], n_resamples=19, rng=0)
    assert [(row.column, row.group, row.n) for row in found.rows] == [
        ("site", "St. Mary", 180),
        ("site", "north", 120),
        ("day", "1", 200),
        ("day", "2", 100),
    ]
    columns = scan.keeping("day").load().columns
    assert columns["day"].tolist() == ["1"] * 80 + ["2"] * 100 + ["1"] * 120
    inside = whole.slice(0, 60).append_column("site", pa.array(["here"] * 60))
    write(tmp_path / "more" / "site=there", inside, ())
    (group,) = cal.slices(cal.scan(tmp_path / "more"), "site", n_resamples=19, rng=0).rows
    assert group.group == "here"
    write(tmp_path / "more" / "site=there" / "day=3", inside, ())
    with pytest.raises(ValueError, match="column 'day' must be in all files"):
        cal.slices(cal.scan(sorted((tmp_path / "more").rglob("day=*"))[0].parent), "day")


def test_columns_of_very_many_values(both, monkeypatch):
    _, scan = both
    monkeypatch.setattr(passes, "MOST_VALUES", 3)
    with pytest.raises(ValueError, match="columns of few values; 'ward' has more than 3 different"):
        cal.slices(scan, ["sex", "ward"], n_resamples=9)


def test_columns_of_lists(tmp_path):
    whole = table(*rows_of(60, 3)).append_column("tags", pa.array([[{"a": 1}]] * 60))
    with pytest.raises(ValueError, match="`by` must name columns of texts, numbers or truths; 'ta"):
        cal.slices(cal.scan(write(tmp_path, whole, ())), "tags", n_resamples=9)


def test_scores(both):
    data, scan = both
    one, two = cal.scores.all_scores(data), cal.scores.all_scores(scan)
    assert one.keys() == two.keys()
    for name, value in one.items():
        assert two[name] == pytest.approx(value, rel=1e-13)
    pieces = replace(scan, fragments=scan.fragments[::-1])
    assert cal.scores.all_scores(pieces) == two  # to the last bit


def test_infinite_scores(tmp_path):
    whole = table(np.array([[1.0, 0.0], [0.5, 0.5]]), [1, 1])
    assert cal.scores.all_scores(cal.scan(write(tmp_path, whole, ())))["log_score"] == np.inf


def test_a_report(both, tmp_path):
    """What can be said is said, with the numbers of the same rows in memory."""
    data, scan = both
    calls = []
    path = cal.report(
        scan,
        tmp_path / "report.html",
        n_resamples=19,
        rng=0,
        progress=lambda *two: calls.append(two),
    )
    page = path.read_text("utf-8")
    for sentence in (
        ">Confidence<",
        "Groups of classes",
        "Recalibration was not tried, since rows were read in batches",
        "calibrators would repair about",
        "groups are miscalibrated at 5 % (adjusted)",
    ):
        assert sentence in page, sentence
    assert "Without cells" not in page
    origin = json.loads(
        page.split('<pre tabindex="0">')[1].split("</pre>")[0].replace("&#34;", '"')
    )
    (model,) = origin["models"]
    assert model["rows"] == N
    assert model["scanned"].startswith(f"Scan(n={N}, m=5,")
    classes = cal.classwise(data, EqualWidth(10), n_resamples=19, rng=0)
    for value in classes.values[:3]:
        assert f"{value:.4f}" in page or f"{100 * value:.1f}" in page
    assert calls[-1][0] == calls[-1][1]
    again = cal.report(scan, tmp_path / "again.html", n_resamples=19, rng=0).read_text("utf-8")
    assert again == page
