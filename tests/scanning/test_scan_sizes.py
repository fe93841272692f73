"""Sizes of scanned rows: against plain loops, in every cut and order, and against known truths."""

from concurrent.futures import ProcessPoolExecutor

import numpy as np
import pytest
from chance import fewest, most, outcomes
from folders import predictions, rows_of, table, write
from places import IN_FULL

import calibrant as cal
from calibrant.lenses import TopLabel
from calibrant.rows import Batch
from calibrant.sizes import bias_of, bias_of_event, scanned, size_of
from calibrant.sizes.cross_fit import FOLDS, RowGains, sample_of
from calibrant.sizes.grades import Grades, add_grades, thresholds
from calibrant.sizes.limits import at_most

SETS = 200 if IN_FULL else 40
KEY = np.uint64(5)
DRAWS = {"n_resamples": 19, "rng": 3}


def talk(data, most_learned=200, cut=7):
    """Return the first and second reduction, their states and what was found, of cut rows."""
    steps = scanned.fitting(data.m, KEY, data.weights.max(), 1)
    first = next(steps)
    first = scanned.SampleDrawing(first.key, most_learned, first.unit)
    drawn = added(first, data, cut)
    second = steps.send(drawn)
    pieces = added(second, data, cut)
    with pytest.raises(StopIteration) as done:
        steps.send(pieces)
    return drawn, second, done.value.value


def added(work, data, cut):
    state = work.zero()
    for rows in np.array_split(np.arange(data.n), cut):
        some = data.take(rows)
        batch = Batch(some, some, numbers=rows.astype(np.int64))
        state = work.merge(work.add(work.zero(), batch), state)
    return state


def draw(n, m, power=0.6, weighted=False, seed=0):
    rng = np.random.default_rng(seed)
    probs = rng.dirichlet(np.full(m, 0.5), n)
    truth = probs**power
    labels = outcomes(rng, truth / truth.sum(axis=1, keepdims=True))
    weights = rng.gamma(1, 1, n) * (rng.random(n) > 0.1) if weighted else None
    return cal.Predictions(probs, labels, weights=weights)


@pytest.mark.parametrize("weighted", [False, True], ids=["", "weighted"])
@pytest.mark.parametrize("m", [2, 3])
def test_sums_are_those_of_plain_loops(m, weighted):
    data = draw(600, m, weighted=weighted)
    drawn, along, found = talk(data)
    sample, _ = sample_of(data)
    sample = sample.complement() if along.swapped else sample
    present = np.flatnonzero(data.weights > 0)
    whole = Batch(data, data, numbers=np.arange(data.n))
    marks = scanned.marks_of(whole, KEY)[present]
    place = {int(mark): k for k, mark in enumerate(drawn.marks)}
    gains, lengths, spread = np.zeros(len(marks)), np.zeros(len(marks)), np.zeros(3)
    for i, mark in enumerate(map(int, marks)):
        fold = place[mark] % FOLDS if mark in place else mark % FOLDS
        row = sample.take(np.array([i]))
        pairs = zip(along.shares[fold], along.directions[fold], strict=True)
        h = sum(share * each(row.probs, row.logs)[0] for share, each in pairs)
        p, y, w = row.probs[0], row.labels[0], sample.weights[i]
        gains[i], lengths[i] = h[y] - p @ h, h @ h
        slope = (h**3).sum() - 2 * (p @ h) * lengths[i]
        spread += w * w * np.array([p @ h**2 - (p @ h) ** 2, slope, -(lengths[i] ** 2)])
    none = np.zeros(0, int), [0] * FOLDS, np.zeros((4, 0)), np.zeros((4, 0))
    wanted = RowGains(sample.weights, gains, lengths, spread, *none).totals(None)
    assert found.count == present.size
    assert found.totals[:3] == pytest.approx(wanted[:3], rel=1e-9)
    assert found.totals.spread == pytest.approx(spread, rel=1e-9)
    assert found.totals.uneven == pytest.approx(wanted.uneven, rel=1e-6)
    assert 0 < found.totals.noise <= 1


def test_no_row_tells_its_own_direction():
    """Another outcome of a row changes the directions of all folds but its own."""
    data = draw(400, 4)
    drawn, before, _ = talk(data)
    whole = Batch(data, data, numbers=np.arange(data.n))
    row = int(np.flatnonzero(scanned.marks_of(whole, KEY) == drawn.marks[7])[0])
    labels = data.labels.copy()
    labels[row] = (labels[row] + 1) % 4
    _, after, _ = talk(cal.Predictions(data.probs, labels))
    own = before.folds(drawn.marks)[7]
    assert own == 7 % FOLDS
    for fold, (one, other) in enumerate(zip(before.directions, after.directions, strict=True)):
        assert np.array_equal(one[1].theta, other[1].theta) == (fold == own)


@pytest.mark.parametrize("weighted", [False, True], ids=["", "weighted"])
def test_groups_have_the_bias_and_the_limit_of_their_rows(weighted):
    """Of few different predictions, each is a group: then all is as with rows."""
    rng = np.random.default_rng(2)
    p = rng.integers(0, 13, 3_000) / 12
    weights = rng.gamma(1, 1, p.size) if weighted else None
    data = cal.Predictions(p, rng.random(p.size) < p**1.3, weights=weights)
    sample, _ = sample_of(data)
    unit = float(sample.weights.max())
    limbs = add_grades(sample, sample.weights / unit, thresholds(sample))
    groups = Grades.of(limbs, unit, 1.0)
    assert tuple(bias_of_event(groups)) == pytest.approx(tuple(bias_of(data)), rel=1e-9)
    assert at_most(groups, 1.96) == pytest.approx(at_most(sample, 1.96), rel=1e-6)
    assert at_most(groups.complement(), 1.96) == pytest.approx(
        at_most(sample.complement(), 1.96), rel=1e-6
    )
    tenths = groups.tenths()
    assert sum(each.weights.sum() for each in tenths) == pytest.approx(sample.weights.sum())
    assert [float(each.p.min()) for each in tenths] == pytest.approx(
        [0, 2 / 12, 3 / 12, 4 / 12, 5 / 12, 6 / 12, 8 / 12, 9 / 12, 10 / 12, 11 / 12]
    )


def test_verdicts_are_the_same_in_every_cut_and_by_every_worker(tmp_path):
    probs, labels, _ = rows_of(900, 3)
    order = np.random.default_rng(1).permutation(900)
    mixed = table(probs[order], labels[order], rows=order)
    whole, turned = table(probs, labels), write(tmp_path / "turned", mixed, (50, 333), 97)
    one = cal.evaluate(cal.scan(write(tmp_path / "one", whole, (), 900)), **DRAWS).to_dict()
    many = cal.scan(write(tmp_path / "many", whole, (7, 300), 41))
    assert cal.evaluate(many, **DRAWS).to_dict() == one
    assert cal.evaluate(cal.scan(turned, row="row"), **DRAWS).to_dict() == one
    with ProcessPoolExecutor(1) as executor:
        away = cal.scan(tmp_path / "many", engine=executor)
        assert cal.evaluate(away, **DRAWS).to_dict() == one
    assert one["verdicts"][0]["size"] is not None


def test_a_scan_says_what_the_same_rows_say_in_memory(tmp_path):
    data = draw(3_000, 3, 0.5)
    scan = cal.scan(write(tmp_path, table(data.probs, data.labels)))
    here, there = (
        cal.evaluate(rows, lenses=["top"], **DRAWS).verdicts[0]
        for rows in (predictions(data.probs, data.labels), scan)
    )
    assert there.lead == here.lead
    assert there.interval == pytest.approx(here.interval, rel=0.1)
    assert there.facts.split("; ")[1].startswith("off by ")


def test_few_rows_have_no_size_and_rows_that_are_pooled_none_either(tmp_path):
    scan = cal.scan(write(tmp_path, table(*rows_of(9, 3)[:2]), (4,)))
    (found,) = cal.evaluate(scan, lenses=["top"], **DRAWS).verdicts
    assert "too few rows to say how far off they are" in found.sentence
    (found,) = cal.evaluate(scan, lenses=["pooled"], **DRAWS).verdicts
    assert "not worked out for scanned rows" in found.sentence


@pytest.mark.parametrize("m", [2, 4])
def test_the_lower_limit_is_above_nothing_in_few_calibrated_sets(m):
    """Directions are learned from a sixth of the rows."""
    wrong = sum(size_of(talk(draw(600, m, 1.0, seed=k), 100, 1)[2]).low > 0 for k in range(SETS))
    assert wrong <= most(SETS, 0.035)


def test_intervals_of_two_outcomes_cover():
    covered = 0
    for seed in range(SETS):
        rng = np.random.default_rng(seed)
        p = rng.random(800)
        truth = p**2 / (p**2 + (1 - p) ** 2)
        found = size_of(talk(cal.Predictions(p, rng.random(800) < truth), 200, 1)[2])
        covered += found.low <= np.sqrt(((truth - p) ** 2).mean()) <= found.high
    assert covered >= fewest(SETS, 0.92)


def test_top_labels_of_a_scan_have_both_ends(tmp_path):
    scan = cal.scan(write(tmp_path, table(*rows_of(500, 4)[:2])))
    low, high = cal.evaluate(scan, lenses=[TopLabel()], **DRAWS).verdicts[0].interval
    assert 0 <= low < high


def test_calibration_errors_and_their_chance_level_are_those_in_memory(tmp_path):
    probs, labels, _ = rows_of(600, 3)
    scan = cal.scan(write(tmp_path, table(probs, labels)))
    for error in (cal.ece, cal.mce, cal.rms):
        here, there = (error(rows, **DRAWS) for rows in (predictions(probs, labels), scan))
        assert float(there) == float(here)
        assert there.expected == pytest.approx(here.expected, rel=1e-12)
        assert there.pvalue == here.pvalue
    with pytest.raises(ValueError, match="scanned rows come in batches"):
        cal.classwise_ece(scan)


def test_an_assertion_takes_scanned_rows(tmp_path):
    data = draw(2_000, 3, 1.0)
    scan = cal.scan(write(tmp_path, table(data.probs, data.labels)))
    assert cal.assert_calibrated(scan, below=0.2, **DRAWS).interval[1] < 0.2
    with pytest.raises(ValueError, match="`lens`: how far off they are is not worked out") as said:
        cal.assert_calibrated(scan, below=0.2, lens="pooled", **DRAWS)
    assert "pooled or have no numbers" in str(said.value)
