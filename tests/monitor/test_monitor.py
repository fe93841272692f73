"""The monitor: portions, promises, words, JSON and refusals."""

import base64
import json
import tracemalloc
import zlib
from contextlib import suppress

import numpy as np
import polars as pl
import pytest
from chance import most

import calibrant as cal
from calibrant import lenses
from calibrant.diagrams.picture import Label
from calibrant.engine.bets import line_prior
from calibrant.engine.wealth import EventState, bet_on_event
from calibrant.monitor import saved, starts
from calibrant.monitor.bias import PSI, RATES, interval, reach


def rows(n, power=1.0, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.random(n)
    return p, (rng.random(n) < p**power).astype(int)


def class_rows(n, m=4, power=1.0, seed=0):
    rng = np.random.default_rng(seed)
    probs = rng.dirichlet(np.ones(m), n)
    truth = probs**power / (probs**power).sum(axis=1, keepdims=True)
    labels = (truth.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1)
    return probs, np.minimum(labels, m - 1)


def watched(p, y, **settings):
    monitor = cal.Monitor(**settings)
    monitor.update(p, y)
    return monitor


SETTINGS = [{}, {"lead": 3}, {"run_length": None}, {"alpha": 0.01}]
OF_CLASSES = [{}, {"lens": "top"}, {"lens": "class:2"}, {"lens": ["top", "class:1"]}, {"lead": 2}]


@pytest.mark.parametrize(
    ("make", "settings"),
    [(rows, each) for each in SETTINGS] + [(class_rows, each) for each in OF_CLASSES],
)
def test_portions_do_not_matter(make, settings):
    p, y = make(900, power=1.3)
    whole = watched(p, y, **settings)
    one_by_one, random = cal.Monitor(**settings), cal.Monitor(**settings)
    for i in range(len(p)):
        one_by_one.update(p[i : i + 1], y[i : i + 1])
    cuts = np.sort(np.random.default_rng(1).integers(0, 900, 12))
    for some, outcomes in zip(np.split(p, cuts), np.split(y, cuts), strict=True):
        if len(some):
            random.update(some, outcomes)
    assert whole.to_dict() == one_by_one.to_dict() == random.to_dict()


@pytest.mark.parametrize("make", [rows, class_rows])
def test_a_monitor_goes_on_after_json(make):
    p, y = make(800, power=1.4)
    whole = watched(p, y)
    first = watched(p[:300], y[:300])
    again = cal.Monitor.from_dict(json.loads(json.dumps(first.to_dict())))
    assert again.to_dict() == first.to_dict()
    again.update(p[300:], y[300:])
    assert again.to_dict() == whole.to_dict()
    assert str(again) == str(whole)


def test_the_state_is_small():
    monitor = watched(*rows(300_000))
    assert len(json.dumps(monitor.to_dict())) < 64 * 1024


def test_damaged_states_are_refused():
    state = watched(*rows(50)).to_dict()
    with pytest.raises(ValueError, match="found something else"):
        cal.Monitor.from_dict({"n": 3})
    with pytest.raises(ValueError, match="of version 2; found 9"):
        cal.Monitor.from_dict({**state, "version": 9})
    with pytest.raises(ValueError, match="is damaged: its digest"):
        cal.Monitor.from_dict({**state, "n": 51})
    monitor = watched(*class_rows(50), lens=["top", "class:1"], lead=2)
    monitor.predict(["a", 3], class_rows(2)[0])
    monitor.observe([3], [1])
    text = json.dumps(monitor.to_dict())
    for path in places(json.loads(text)):
        for value in (None, -1, 1e300, "AAAA", [], {}):
            damaged = json.loads(text)
            within = damaged
            for name in path[:-1]:
                within = within[name]
            if within[path[-1]] != value:
                within[path[-1]] = value
                with pytest.raises(ValueError, match="`state`"):
                    cal.Monitor.from_dict(damaged)
                del damaged["digest"]  # whoever writes a digest may write any number, but no junk
                with suppress(ValueError):
                    cal.Monitor.from_dict(saved.sealed(damaged))


def test_arrays_that_unpack_to_more_than_they_may_hold_are_not_unpacked():
    bomb = zlib.compress(bytes(1 << 26))
    for content in (bomb, zlib.compress(bytes(8))[:-2]):
        tracemalloc.start()
        with pytest.raises(ValueError, match="is damaged: an array has another length"):
            saved.from_text(base64.b64encode(content).decode(), np.float64, 1)
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
        tracemalloc.stop()


def places(body, path=()):
    """Yield the way to every value of nested lists and dictionaries."""
    if path:
        yield path
    inside = body.items() if isinstance(body, dict) else ()
    for name, value in enumerate(body) if isinstance(body, list) else inside:
        yield from places(value, (*path, name))


def test_an_alarm_names_its_row():
    p, y = rows(3000, power=2.0)
    monitor = watched(p, y)
    traces = bet_on_event(p, y.astype(np.uint8), EventState.start(), 0.0)
    assert monitor.alarm == np.flatnonzero(traces.log_wealth >= np.log(20))[0]
    assert monitor.pvalue == pytest.approx(np.exp(-traces.log_wealth.max()))
    assert monitor.log_evalue == traces.log_wealth[-1]
    assert monitor.direction == "high"
    assert monitor.bias == pytest.approx(np.mean(p - y))
    low, high = monitor.bias_interval
    assert low < monitor.bias < high
    assert monitor.since_interval[0] <= monitor.since <= monitor.since_interval[1]
    assert "alarm at row" in str(monitor)


def test_without_an_alarm_nothing_began():
    monitor = watched(*rows(500))
    assert monitor.alarm is monitor.since is monitor.direction is None
    assert monitor.since_interval is None
    assert str(monitor).startswith("no alarm after 500 rows")
    assert str(cal.Monitor()) == "no rows yet"
    calm = cal.Monitor()
    calm.update([], [])
    calm.predict([], [])
    assert (calm.n, calm.evalue, calm.pvalue) == (0, 1, 1)
    assert cal.Monitor().bias is cal.Monitor().bias_interval is cal.Monitor().which is None


def test_the_change_detector_sees_a_late_change_first():
    calm, (p, y) = rows(60_000, seed=1), rows(4000, power=1.5, seed=2)
    monitor = cal.Monitor(run_length=1e6)
    monitor.update(*calm)
    monitor.update(p, y)
    assert monitor.alarm is None or monitor.change < monitor.alarm
    assert 60_000 <= monitor.change < 62_000
    low, high = monitor.since_interval
    assert low <= 60_000 <= high
    assert high - low < 6000


def test_classes_say_which_of_them_is_off():
    rng = np.random.default_rng(0)
    probs = rng.dirichlet(np.ones(5), 6000)
    truth = probs * [1, 1, 1.8, 1, 1]
    truth /= truth.sum(axis=1, keepdims=True)
    labels = (truth.cumsum(axis=1) < rng.random((6000, 1))).sum(axis=1)
    data = cal.Predictions(probs, labels, classes=["a", "b", "c", "d", "e"])
    monitor = cal.Monitor()
    monitor.update(data)
    assert monitor.alarm is not None
    assert monitor.which.bet == "one class"
    assert (monitor.which.name, monitor.which.direction) == ("c", "low")
    through = cal.Monitor(lenses.Marginal("c"))
    through.update(data)
    assert through.direction == "low"
    assert cal.Monitor.from_dict(through.to_dict()).to_dict() == through.to_dict()


def test_an_outcome_of_probability_zero_is_infinite_evidence():
    monitor = watched([0.5, 0.0, 1.0, 0.5], [1, 0, 1, 0])
    assert monitor.alarm is None
    monitor.update([0.3, 0.0], [1, 1])
    assert monitor.evalue == np.inf
    assert monitor.pvalue == 0
    assert monitor.alarm == monitor.impossible == 5
    start = "alarm at row 5: an outcome occurred that had probability 0; bias"
    assert str(monitor).startswith(start)
    later = watched(*rows(3000, power=3.0))
    later.update([0.0], [1])
    assert later.alarm < later.impossible == 3000
    assert f"alarm at row {later.alarm} (in at most" in str(later)
    assert str(later).endswith("; an outcome that had probability 0 occurred at row 3,000")
    again = cal.Monitor.from_dict(json.loads(json.dumps(monitor.to_dict(), allow_nan=False)))
    assert again.to_dict() == monitor.to_dict()


def test_rows_without_outcome_are_left_out_and_said():
    p, y = rows(100)
    holes = [None if i % 10 == 0 else int(each) for i, each in enumerate(y)]
    monitor = watched(p, holes)
    keep = np.arange(100) % 10 != 0
    assert (monitor.n, monitor.missing) == (90, 10)
    assert monitor.log_evalue == watched(p[keep], y[keep]).log_evalue
    assert "10 rows with missing values left out" in str(monitor)
    as_floats = watched(p, np.where(keep, y, np.nan))
    assert as_floats.to_dict() == monitor.to_dict()
    with pytest.raises(ValueError, match="row 1 has 7"):
        monitor.update([0.2, 0.3, 0.4], [None, 1, 7])
    assert as_floats.to_dict() == monitor.to_dict()


@pytest.mark.parametrize("dtype", ["Int64", "boolean", "string"])
def test_missing_values_of_pandas_are_known(dtype):
    pd = pytest.importorskip("pandas")
    p, y = rows(3)
    holes = pd.array([str(y[0]) if dtype == "string" else y[0], None, y[2]], dtype)
    monitor = watched(p, pd.Series(holes))
    assert (monitor.n, monitor.missing) == (2, 1)
    assert monitor.log_evalue == watched(p[[0, 2]], y[[0, 2]]).log_evalue


def test_frames_may_be_predicted():
    probs, labels = class_rows(20, m=3)
    monitor = cal.Monitor("class:b")
    monitor.predict(range(20), pl.DataFrame(probs, schema=[f"prob_{name}" for name in "abc"]))
    assert cal.Monitor.from_dict(monitor.to_dict()).to_dict() == monitor.to_dict()
    assert str(monitor) == "no rows yet; 20 rows waiting"
    assert monitor.which is None
    monitor.observe(range(20), [("a", "b", "c")[y] for y in labels])
    assert monitor.log_evalue == watched(probs, labels, lens="class:1").log_evalue


def test_frames_and_names_of_classes_are_taken():
    probs, labels = class_rows(200, m=3)
    frame = pl.DataFrame({f"prob_{name}": probs[:, j] for j, name in enumerate("abc")})
    monitor = cal.Monitor("class:b")
    monitor.update(frame[:100], [("a", "b", "c")[y] for y in labels[:100]])
    monitor.update(probs[100:], [("a", "b", "c")[y] for y in labels[100:]])
    assert monitor.log_evalue == watched(probs, labels, lens="class:1").log_evalue


def test_outcomes_may_come_late_and_wait_for_earlier_rows():
    p, y = rows(40)
    monitor = cal.Monitor()
    monitor.predict([f"row {i}" for i in range(40)], p)
    order = np.random.default_rng(3).permutation(40)
    for i in order[:-1]:
        monitor.observe([f"row {i}"], [y[i]])
        monitor = cal.Monitor.from_dict(json.loads(json.dumps(monitor.to_dict())))
    assert monitor.waiting
    assert "waiting" in str(monitor) or monitor.n == 0
    monitor.observe([f"row {order[-1]}"], [y[order[-1]]])
    assert not monitor.waiting
    assert monitor.log_evalue == watched(p, y).log_evalue


def test_late_outcomes_are_refused_where_they_do_not_fit():
    monitor = cal.Monitor()
    monitor.predict(["a", "b"], [0.2, 0.4])
    with pytest.raises(ValueError, match="must differ from those that wait; found 'a'"):
        monitor.predict(["a"], [0.3])
    with pytest.raises(ValueError, match="must name each of the 2 rows"):
        monitor.predict(["c"], [0.3, 0.4])
    with pytest.raises(ValueError, match="must have been predicted; 'z' was not"):
        monitor.observe(["z"], [1])
    with pytest.raises(ValueError, match="must be one for each of the 1 ids"):
        monitor.observe(["a"], [1, 0])
    monitor.observe(["b"], [1])
    with pytest.raises(ValueError, match="'b' was observed before"):
        monitor.observe(["b"], [1])
    with pytest.raises(ValueError, match="among the classes '0', '1'; row 0 has 7"):
        monitor.observe(["a"], [7])
    assert monitor.waiting == 2
    monitor.observe(["a"], [None])
    assert (monitor.n, monitor.missing, monitor.waiting) == (1, 1, 0)
    monitor.predict(["c"], [0.2])
    with pytest.raises(ValueError, match="observed once; found 'c' twice"):
        monitor.observe(["c", "c"], [0, 1])
    with pytest.raises(ValueError, match="as many columns as those of rows that wait"):
        monitor.predict(["d"], [[0.2, 0.8]])
    with pytest.raises(ValueError, match="texts or whole numbers; found \\('d', 1\\)"):
        monitor.predict([("d", 1)], [0.2])
    with pytest.raises(ValueError, match="the same classes in every portion"):
        monitor.predict(["d"], [[0.2, 0.3, 0.5]])
    monitor.observe(["c"], ["1"])
    assert (monitor.n, monitor.waiting) == (2, 0)


def test_what_cannot_be_bet_on_is_refused():
    p, y = rows(10)
    with pytest.raises(ValueError, match="`weights` must not be given"):
        cal.Monitor().update(cal.Predictions(p, y, weights=np.arange(1, 11)))
    with pytest.raises(ValueError, match="`clusters` must not be given"):
        cal.Monitor().update(cal.Predictions(p, y, clusters=np.arange(10) // 2))
    with pytest.raises(ValueError, match="makes several of one"):
        cal.Monitor("pooled").update(*class_rows(10))
    with pytest.raises(ValueError, match="same classes in every portion"):
        watched(p, y).update(*class_rows(10))
    with pytest.raises(TypeError, match="`labels` must be given"):
        cal.Monitor().update(p)
    with pytest.raises(
        ValueError, match=r"`probs` must be of shape \(n, m\) or \(n,\); found \(\)"
    ):
        cal.Monitor().update(0.3, 1)
    with pytest.raises(
        ValueError, match=r"`probs` must be of shape \(n, m\) or \(n,\); found \(\)"
    ):
        cal.Monitor().predict(["a"], 0.3)
    with pytest.raises(ValueError, match="at least one lens"):
        cal.Monitor([])
    with pytest.raises(ValueError, match="`alpha` must be between 0 and 1"):
        cal.Monitor(alpha=1.5)
    with pytest.raises(ValueError, match="has none"):
        watched(*class_rows(10), lens=lenses.Groups([[0, 1], [2, 3]])).to_dict()


def test_monitors_merge_by_the_mean_or_the_product():
    first, second = watched(*rows(400, 1.3, 1)), watched(*rows(400, 1.3, 2))
    together = first.merge(second)
    assert together.evalue == pytest.approx((first.evalue + second.evalue) / 2)
    product = first.merge(second, independent=True)
    assert product.evalue == pytest.approx(first.evalue * second.evalue)
    assert product.n == 800
    assert product.pvalue == min(1, 1 / product.evalue)
    assert "2 monitors, 800 rows" in str(product)
    with pytest.raises(ValueError, match="found the same twice"):
        first.merge(first)
    with pytest.raises(ValueError, match="found the same twice"):
        first.merge(second, cal.Monitor.from_dict(second.to_dict()), independent=True)
    groups = lenses.Groups([[0, 1], [2, 3]])  # which has no short name
    pair = [watched(*class_rows(30, seed=seed), lens=groups) for seed in (1, 2)]
    assert pair[0].merge(pair[1]).n == 60
    with pytest.raises(TypeError, match="must be monitors; found int"):
        first.merge(3)


def test_the_evidence_of_a_start_is_that_of_its_formula():
    p, y = rows(200, power=1.2)
    state = EventState.start()
    bet_on_event(p, y.astype(np.uint8), state, 0.0)
    first = np.cumsum(state.record.rows) - state.record.rows
    for block, found in enumerate(starts.evidence(state.record)):
        after, lines, tenths = np.arange(200) >= first[block], 0.0, 0.0
        inside = [after & ((p * 10).astype(int) == j) for j in range(10)]
        residual = [(y - p)[each].sum() for each in inside]
        variance = [(p * (1 - p))[each].sum() for each in inside]

        def likelihood(j, shift, residual=residual, variance=variance):
            return np.exp(shift * residual[j] - shift**2 * variance[j] / 2)

        for line, weight in zip(starts.LINES, line_prior(0.0), strict=True):
            lines += weight * np.prod([likelihood(j, line[j]) for j in range(10)])
        for size in (0.06, 0.12, 0.25, 0.5, 1.0):
            shifted = [(likelihood(j, size) + likelihood(j, -size)) / 2 for j in range(10)]
            for none in (0.1, 0.8):
                any_of_all = np.prod([none + (1 - none) * each for each in shifted])
                tenths += (any_of_all - none**10) / (1 - none**10) / 10
        assert found == pytest.approx(np.log(0.4 * lines + 0.6 * tenths), rel=1e-9)


def test_the_bias_interval_is_where_its_mixture_allows():
    x = reach(40.0, 0.05)
    assert np.exp(RATES * x - PSI * 40).mean() == pytest.approx(2 / 0.05, rel=1e-9)
    low, high = interval(3.0, 40.0, 200, 0.05)
    assert (low, high) == pytest.approx(((-3 - x) / 200, (-3 + x) / 200))


def ever_alarmed(seed, n, *, wrong=False):
    """Whether a calibrated stream alarms; the wrong twin tests anew every 100 rows at 5 %."""
    p, y = rows(n, seed=seed)
    if not wrong:
        return bet_on_event(
            p, y.astype(np.uint8), EventState.start(), 0.0
        ).log_wealth.max() >= np.log(20)
    z = np.cumsum(y - p)[99::100] / np.sqrt(np.cumsum(p * (1 - p))[99::100])
    return bool((np.abs(z) >= 1.96).any())


def test_false_alarms_are_as_rare_as_promised():
    assert sum(ever_alarmed(seed, 5000) for seed in range(400)) <= most(400, 0.05)
    assert sum(ever_alarmed(seed, 5000, wrong=True) for seed in range(400)) > most(400, 0.05)


def shared_outcomes(seed, lead, *, wrong=False):
    """Whether rows alarm that are predicted `lead` ahead, and whose outcomes are one and the same.

    The wrong twin treats them as rows that come one after the other.
    """
    rng = np.random.default_rng(seed)
    p = np.repeat(rng.random(300), lead)
    y = np.repeat(rng.random(300) < p[::lead], lead)
    return watched(p, y, lead=1 if wrong else lead, run_length=None).alarm is not None


def test_the_first_rows_of_a_lead_are_told():
    p, y = rows(2)
    monitor = watched(p, y, lead=5)
    assert str(monitor).startswith("no alarm after 2 rows: e-value")
    shares = [(p[k] - y[k], *interval(y[k] - p[k], (y[k] - p[k]) ** 2, 1, 0.01)) for k in (0, 1)]
    assert (monitor.bias, *monitor.bias_interval) in shares


def test_a_lead_keeps_the_promise():
    assert sum(shared_outcomes(seed, 5) for seed in range(100)) <= most(100, 0.05)
    assert sum(shared_outcomes(seed, 5, wrong=True) for seed in range(100)) > most(100, 0.05)


def test_the_mean_run_length_is_at_least_what_was_asked_for():
    lengths = []
    for seed in range(150):
        p, y = rows(40_000, seed=seed)
        over = np.flatnonzero(
            bet_on_event(p, y.astype(np.uint8), EventState.start(), 500.0).changed >= 500
        )
        lengths.append(over[0] + 1 if over.size else 40_000)
    assert np.mean(lengths) + 5 * np.std(lengths) / np.sqrt(150) >= 500


def test_the_bias_interval_covers_at_all_times():
    missed = 0
    for seed in range(100):
        p, y = rows(3000, 1.5, seed)
        true = np.cumsum(p - p**1.5)
        sums = np.cumsum(y - p), np.cumsum((y - p) ** 2)
        for t in range(9, 3000, 50):
            low, high = interval(sums[0][t], sums[1][t], t + 1, 0.05)
            if not low <= true[t] / (t + 1) <= high:
                missed += 1
                break
    assert missed <= most(100, 0.05)


def labels_of(picture):
    return [part.text for part in picture.parts if isinstance(part, Label)]


def test_the_picture_shows_the_alarm_and_its_level():
    monitor = watched(*rows(2000, power=2.0))
    picture = monitor.diagram().picture()
    names = [key.name for key in picture.keys]
    assert "alarm" in names
    assert any(name.startswith("alarm level") for name in names)
    assert "most likely start" in names
    assert monitor.diagram().rows[-1] == 2000
    assert "svg" in monitor.figure()._repr_html_()
    assert monitor.diagram().evidence.max() > 12
    assert "more than 10^12" in labels_of(picture)
    calm = watched(*rows(100)).diagram().picture()
    assert not labels_of(calm)
    assert len(calm.keys) == 2
    assert cal.Monitor().diagram().picture().frame.x == (0.0, 1.03)
