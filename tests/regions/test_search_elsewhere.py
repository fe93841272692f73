"""A search of scanned rows: the same bits as in memory, whoever reads them and however cut."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest

pa = pytest.importorskip("pyarrow")
from scanning.folders import write  # noqa: E402 (needs pyarrow)

import calibrant as cal  # noqa: E402
from calibrant.cuts.columns import cut_columns  # noqa: E402
from calibrant.inference.replicates.problem import Plan  # noqa: E402
from calibrant.regions.evidence import search_replicates  # noqa: E402
from calibrant.regions.rows import ScannedRows  # noqa: E402
from calibrant.regions.searching import How, look  # noqa: E402
from calibrant.resampling import Exact  # noqa: E402
from calibrant.rows.passes import smallest_hashes  # noqa: E402

RNG = np.random.default_rng(4)
N = 3000
P = RNG.dirichlet(np.ones(3), N)
COLUMNS = {
    "age": RNG.integers(20, 80, N),
    "dose": np.round(RNG.normal(size=N), 2),
    "site": np.where(RNG.random(N) < 0.02, None, RNG.choice(["A", "B", "C"], N)),
    "day": (np.datetime64("2025-01-01") + RNG.integers(0, 200, N)).astype(str),
}
OFF = (COLUMNS["site"] == "B") & (COLUMNS["age"] < 50)
TRUTH = np.where(OFF[:, None], np.roll(P, 1, axis=1), P)
LABELS = (TRUTH.cumsum(axis=1) < RNG.random((N, 1))).sum(axis=1)
NAMES = list(COLUMNS)


def table(m):
    """Return the rows as an Arrow table with two classes or three."""
    if m == 2:
        probs, labels = {"prob": P[:, 0]}, (LABELS == 0).astype(int)
    else:
        probs, labels = {f"prob_{j}": P[:, j] for j in range(3)}, LABELS
    return pa.table({**probs, "label": labels, **COLUMNS})


def scanned(tmp_path, m=2, cuts=(700, 701, 2_000), group=450, **how):
    """Return a scan of the rows, cut like this."""
    return cal.scan(write(tmp_path / f"{m}-{len(cuts)}-{group}", table(m), cuts, group), **how)


@pytest.mark.parametrize(
    ("m", "how"),
    [(2, {}), (2, {"statistic": "slope"}), (3, {}), (3, {"lens": "classes"})],
    ids=str,
)
def test_the_bits_of_memory_in_three_cuts_and_with_an_executor(tmp_path, m, how):
    whole = scanned(tmp_path, m).keeping(NAMES).load()
    wanted = cal.search(whole, NAMES, n_resamples=99, **how)
    assert wanted.rows
    with ThreadPoolExecutor(2) as pool:
        scans = [
            scanned(tmp_path, m),
            scanned(tmp_path, m, (), 10_000),
            scanned(tmp_path, m, (1, 999, 1500, 2999), 73),
            scanned(tmp_path, m, (100,), 511, engine=pool),
        ]
        for scan in scans:
            found = cal.search(scan, NAMES, n_resamples=99, **how)
            assert found.to_dict() == wanted.to_dict()
            assert (found.largest == wanted.largest).all()


def test_columns_of_many_rows_are_cut_by_a_sample(tmp_path, monkeypatch):
    """Then the same candidates give memory the same bits; no cut of rows shows."""
    monkeypatch.setattr("calibrant.regions.rows.SAMPLE", 400)
    first = cal.search(scanned(tmp_path), NAMES, n_resamples=99)
    scan = scanned(tmp_path, 2, (5, 6), 99)
    plan = Plan.of(scan, Exact(), 99, 0, None)
    looked = look(scan, NAMES, plan, How())
    other = search_replicates(looked.evidence, looked.rows, plan)
    assert (first.largest == other.largest).all()
    assert first.rows
    assert isinstance(looked.rows, ScannedRows)
    whole = scanned(tmp_path).keeping(NAMES).load()
    monkeypatch.setattr(
        "calibrant.regions.searching.cut_columns",
        lambda given, made, whole: sampled_cuts(looked, given),  # noqa: ARG005
    )
    memory = cal.search(whole, NAMES, n_resamples=99)
    assert memory.to_dict()["rows"] == first.to_dict()["rows"]
    assert (memory.largest == first.largest).all()


def sampled_cuts(looked, given):
    """Return columns in memory that are cut as those of a sample were."""
    found, left_out = cut_columns(given)
    cuts = looked.rows.aspect.cuts
    assert [one.cut.name for one in found] == [cut.name for cut in cuts]
    return [
        one._replace(cut=cut, codes=cut.codes(given[cut.coder.column]))
        for one, cut in zip(found, cuts, strict=True)
    ], left_out


def test_levels_that_the_sample_lacks_are_others(tmp_path, monkeypatch):
    monkeypatch.setattr("calibrant.regions.rows.SAMPLE", 300)
    scan = scanned(tmp_path)
    looked = look(scan, ["site", "age"], Plan.of(scan, Exact(), 19, 0, None), How())
    cuts = {cut.name: cut for cut in looked.rows.aspect.cuts}
    assert cuts["site"].names == ("A", "B", "C", "others", "missing")
    assert cuts["age"].names[-1] == "missing"
    ages = COLUMNS["age"].astype("U3")
    ages[smallest_hashes(np.arange(N), N)[-1]] = "old"  # a row that is in no sample
    values = table(2).drop_columns("age").append_column("age", pa.array(ages))
    scan = cal.scan(write(tmp_path / "words", values))
    with pytest.raises(ValueError, match="column 'age' must hold numbers, as where it was cut"):
        cal.search(scan, ["age"], n_resamples=19)


def test_what_cannot_be_had_of_scanned_rows(tmp_path):
    scan = scanned(tmp_path)
    found = cal.search(scan, ["site"], n_resamples=19)
    with pytest.raises(ValueError, match="the mask of a region looks at rows, and scanned rows"):
        _ = found.strongest.mask
    with pytest.raises(TypeError, match="`columns` must be names of columns of the files"):
        cal.search(scan, COLUMNS, n_resamples=19)
    assert cal.search(scan, n_resamples=19).settings["columns"] == ["P(1)"]
    kept = cal.search(scan.keeping("site"), n_resamples=19)
    assert kept.settings["columns"] == ["site", "P(1)"]
    numbered = replace(scan, columns=replace(scan.columns, weight="age"))
    with pytest.raises(ValueError, match="`data` must have no weights here"):
        cal.search(numbered, ["site"], n_resamples=19)


def test_the_label_is_refused_in_batches_too(tmp_path):
    values = table(2)
    copy = values.append_column("after", values["label"])
    scan = cal.scan(write(tmp_path / "leak", copy))
    with pytest.raises(ValueError, match="column 'after' all but tells which outcome occurred"):
        cal.search(scan, ["after"], n_resamples=19)


def test_many_findings_take_few_passes(tmp_path, monkeypatch):
    """Overlaps of several regions are looked up in one pass over rows elsewhere."""
    passes = []
    scan = scanned(tmp_path)
    plain = type(scan.workers).reduce

    def counted(workers, *arguments):
        passes.append(1)
        return plain(workers, *arguments)

    monkeypatch.setattr(type(scan.workers), "reduce", counted)
    found = cal.search(scan, NAMES, n_resamples=99)
    assert found[0].same > 5
    assert len(passes) <= 5
