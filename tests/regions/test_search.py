"""A search of regions: the definition in plain loops, chance, findings and what is said."""

import json

import numpy as np
import pytest
from chance import most

import calibrant as cal
from calibrant import engine, lenses
from calibrant.checks.parameters import make_key
from calibrant.inference.replicates.problem import Plan
from calibrant.regions.evidence import search_replicates
from calibrant.regions.findings import critical, interval
from calibrant.regions.measures import Slope, as_measure
from calibrant.regions.searching import How, look
from calibrant.resampling import Exact

RNG = np.random.default_rng(0)
N = 600
P = RNG.beta(2, 2, N)
AGE = RNG.integers(20, 80, N)
SITE = RNG.choice(["A", "B", "C"], N)
COLUMNS = {"age": AGE, "site": SITE}
OFF = (SITE == "B") & (AGE < 50)
DATA = cal.Predictions(P, RNG.random(N) < np.clip(P - 0.35 * OFF, 0, 1))
CALIBRATED = cal.Predictions(P, RNG.random(N) < P)
MANY = cal.Predictions(RNG.dirichlet(np.ones(4), N), RNG.integers(0, 4, N), classes=list("wxyz"))


def looked(data, columns=None, lens=None, resamples=39, measure="bias"):
    """Return all regions, and what replicates say of them."""
    plan = Plan.of(data, Exact(), resamples, 3, None)
    found = look(data, columns or COLUMNS, plan, How(lens, as_measure(measure)))
    return found, search_replicates(found.evidence, found.rows, plan)


def plain(data, found, ranked, measure, resamples=39):
    """Return z of the data and of every replicate (regions, 1 + B), in plain loops."""
    sets = [data, *(Exact().draw(data, make_key(3), b) for b in range(resamples))]
    lens = found.problem.lens
    codes, rows = [], []
    for g in range(ranked.n.size):
        mask = ranked.candidates.mask(g, found.rows.codes)
        event = found.rows.events[int(ranked.event[g])]
        p = event.probs[mask]
        occurred = np.array([lens(one).labels[mask] == event.outcome for one in sets])
        v, x = p * (1 - p), np.ones(p.size)
        if measure == "slope":
            x = np.round(1024 * np.clip(np.log(p / (1 - p)), -8, 8)) / 1024
            x -= (v * x).sum() / v.sum()
        rows.append((occurred - p) @ x / np.sqrt((v * x**2).sum()))
        codes.append(mask.sum())
    assert codes == ranked.n.tolist()
    return np.abs(np.array(rows))


@pytest.mark.parametrize("measure", ["bias", "slope"])
@pytest.mark.parametrize(
    ("data", "lens"),
    [(DATA, None), (MANY, None), (MANY, "class:y"), (MANY, "classes"), (MANY, "groups:0,1|2,3")],
    ids=str,
)
def test_the_plain_definition(data, lens, measure):
    """Counts of masks in data sets that are drawn row by row; a step-down maximum by its text."""
    found, searched = looked(data, lens=lens, measure=measure)
    z = plain(data, found, searched.evidence, measure)
    near = {"rel": 1e-8, "abs": 0 if measure == "bias" else 2**-20}  # what slopes are rounded to
    assert np.abs(searched.evidence.z) == pytest.approx(z[:, 0], **near)
    assert (np.diff(z[:, 0]) <= 1e-9).all()
    assert searched.largest == pytest.approx(z[:, 1:].max(axis=0), **near)
    steps = [((z[g:].max(axis=0) >= z[g, 0] * (1 - 1e-10)).mean()) for g in range(len(z))]
    assert searched.pvalues == pytest.approx(np.maximum.accumulate(steps), rel=1e-12)
    sizes = searched.evidence.n, searched.evidence.found.variance
    at_least = {(n >= 40, v >= 5) for n, v in zip(*sizes, strict=True)}
    assert at_least == {(True, True)}


def test_threads_and_blocks_change_no_bit(monkeypatch):
    monkeypatch.setenv("CALIBRANT_THREADS", "1")
    _, one = looked(DATA, resamples=150)
    monkeypatch.setenv("CALIBRANT_THREADS", "3")
    monkeypatch.setattr("calibrant.regions.evidence.SIDE", 7)
    monkeypatch.setattr("calibrant.regions.evidence.ROWS", 700)
    _, three = looked(DATA, resamples=150)
    assert (one.largest == three.largest).all()
    assert (one.pvalues == three.pvalues).all()


def test_the_region_that_is_off_is_found():
    found = cal.search(DATA, COLUMNS, n_resamples=199)
    top = found[0]
    assert "site = B" in top.conditions
    assert (top.mask & OFF).sum() / (top.mask | OFF).sum() > 0.6
    assert top.bias == pytest.approx((P - DATA.labels)[top.mask].mean())
    assert top.interval[0] > 0
    assert top.pvalue == 0.005
    assert (len(found), list(found)) == (1, [top])
    assert top.same > 0
    low, high = (100 * end for end in top.interval)
    assert top.sentence.replace("\N{NO-BREAK SPACE}", " ") == (
        f"{top.conditions}: too high by {100 * top.bias:.1f} points ({low:.1f} to {high:.1f}),"
        f" {top.n} rows, p ≤ 0.005, adjusted for {found.n_regions} regions"
    )


def test_calibrated_rows_have_no_finding():
    found = cal.search(CALIBRATED, COLUMNS, n_resamples=199)
    assert len(found) == 0
    assert found.strongest.pvalue == found.pvalue > 0.05
    assert str(found).startswith(f"None of {found.n_regions} regions is shown to be off.")
    assert found.lines()[1] == [found.strongest.cells()]


def test_two_regions_are_two_findings():
    rng = np.random.default_rng(5)
    n = 4000
    p, site = rng.beta(2, 2, n), rng.choice(list("ABCDEF"), n)
    truth = np.clip(p - 0.15 * (site == "A") + 0.15 * (site == "D"), 0, 1)
    found = cal.search(p, rng.random(n) < truth, {"site": site}, n_resamples=199)
    assert {row.conditions[:8] for row in found} == {"site = A", "site = D"}
    assert len(found) == 2
    assert {row.amount[:8] for row in found} == {"too high", "too low "}


def test_a_model_that_is_off_everywhere_has_one_finding():
    rng = np.random.default_rng(6)
    p = rng.beta(2, 2, 3000)
    columns = {"x": rng.normal(size=3000), "site": rng.choice(list("AB"), 3000)}
    found = cal.search(p, rng.random(3000) < p - 0.1 * p, columns, n_resamples=199)
    assert found[0].n > 2000
    assert len(found) <= 2


def rejections(trials, truth, naive=False):
    """Count data sets with a rejected region; naively, as if the largest were the only one."""
    rng = np.random.default_rng(7)
    count = 0
    for seed in range(trials):
        p, x = rng.beta(2, 2, 200), rng.normal(size=200)
        site = rng.choice(list("ABC"), 200)
        labels = rng.random(200) < truth(p, site)
        found = cal.search(p, labels, {"x": x, "site": site}, n_resamples=19, rng=seed)
        count += found.evidence > 1.96 if naive else found.pvalue <= 0.05
    return count


def test_level_and_a_wrong_twin():
    """Of calibrated models 5 % are rejected; without paying for the search, most."""
    limit = most(200, 0.05)
    assert rejections(200, lambda p, _: p) <= limit
    assert rejections(60, lambda p, _: p, naive=True) > most(60, 0.05)
    assert rejections(60, lambda p, site: p - p * 0.4 * (site == "A")) > most(60, 0.05)


def test_the_interval_of_the_picked_region_covers():
    """In 95 % of the data sets; a naive interval does not."""
    rng = np.random.default_rng(8)
    missed = naive = 0
    for seed in range(100):
        p = rng.beta(2, 2, 400)
        columns = {"x": rng.normal(size=400), "site": rng.choice(list("ABC"), 400)}
        truth = np.clip(p - 0.1 * (columns["site"] == "A"), 0, 1)
        found = cal.search(p, rng.random(400) < truth, columns, n_resamples=99, rng=seed)
        top = found.strongest
        bias, half = (p - truth)[top.mask].mean(), 1.96 * 0.45 / np.sqrt(top.n)
        missed += not top.interval[0] <= bias <= top.interval[1]
        naive += abs(top.bias - bias) > half
    assert missed <= most(100, 0.05)
    assert naive > most(100, 0.05)


def test_intervals_and_p_values_agree():
    """A region is rejected in one step where its interval leaves 0 out."""
    _, searched = looked(DATA, resamples=99)
    limit = critical(searched.largest)
    for g in range(0, searched.evidence.n.size, 7):
        low, high = interval(searched.evidence, g, limit, False)
        outside = not low <= 0 <= high
        assert outside == (abs(searched.evidence.z[g]) > limit)
        assert low <= -searched.evidence.found.residual[g] / searched.evidence.n[g] <= high


def test_clusters_are_flipped():
    """The plain definition: signs of clusters, and their squares."""
    clusters = np.arange(N) // 5
    data = cal.Predictions(P, DATA.labels, clusters=clusters)
    found, searched = looked(data)
    ranked, e = searched.evidence, DATA.labels - P
    key = make_key(3)
    keys = engine.draws.replicate_keys(key, engine.arrays.Replicates(0, 39))
    signs = np.where(engine.draws.uniforms(key, (0, N // 5), keys) < 0.5, -1.0, 1.0)
    rows, root = [], np.sqrt(P * (1 - P))
    pairs = [(i, j) for i in range(N) for j in range(i // 5 * 5, i // 5 * 5 + 5) if i != j]
    i, j = np.array(pairs).T
    rho = max(0.0, (e[i] * e[j]).sum() / (root[i] * root[j]).sum())
    for g in range(ranked.n.size):
        mask = ranked.candidates.mask(g, found.rows.codes)
        sums = np.bincount(clusters[mask], e[mask], N // 5)
        assert np.unique(clusters[mask]).size >= 20
        alike = mask[i] & mask[j]
        implied = (root[mask] ** 2).sum() + rho * (root[i] * root[j])[alike].sum()
        scale = np.sqrt(max((sums**2).sum(), implied))
        rows.append(np.abs(np.append(sums.sum(), sums @ signs)) / scale)
    z = np.array(rows)
    assert np.abs(ranked.z) == pytest.approx(z[:, 0], rel=1e-8)
    assert searched.largest == pytest.approx(z[:, 1:].max(axis=0), rel=1e-8)
    assert cal.search(data, COLUMNS, n_resamples=99)[0].interval[0] > 0


def test_predictions_are_columns():
    p = np.tile(np.linspace(0.05, 0.95, 50), 40)
    labels = RNG.random(2000) < np.where(p > 0.8, p - 0.3, p)
    found = cal.search(p, labels, n_resamples=99)
    assert found[0].conditions.startswith("P(1) ≥ 0.7") or "P(1) ≥ 0.8" in found[0].conditions
    several = cal.search(MANY, n_resamples=99)
    assert several.settings["columns"] == ["confidence", "predicted class"]
    assert "confident by" in several.strongest.amount
    named = cal.search(MANY, {"confidence": AGE}, n_resamples=19)
    assert named.settings["columns"] == ["confidence", "model's confidence", "predicted class"]


def test_every_class():
    rng = np.random.default_rng(9)
    probs = rng.dirichlet(np.ones(4), 3000)
    site = rng.choice(list("AB"), 3000)
    truth = probs.copy()
    truth[site == "B", 2] *= 2.5
    truth /= truth.sum(axis=1, keepdims=True)
    labels = (truth.cumsum(axis=1) < rng.random((3000, 1))).sum(axis=1)
    data = cal.Predictions(probs, labels, classes=list("wxyz"))
    found = cal.search(data, {"site": site}, lens="classes", n_resamples=99)
    assert found[0].subject == "P(y)"
    assert "P(y) too low" in found[0].sentence
    assert "site = B" in found[0].conditions


LEAKS = {
    "the label": lambda y: y,
    "in words": lambda y: np.where(y == 1, "died", "alive"),
    "in numbers": lambda y: y * 3.0 + RNG.random(N),
    "with missing": lambda y: np.where(y == 1, 1.0, np.nan),
}


@pytest.mark.parametrize("leak", LEAKS.values(), ids=LEAKS)
def test_a_column_that_the_label_determines_is_refused(leak):
    with pytest.raises(ValueError, match="column 'after' all but tells which outcome occurred"):
        cal.search(CALIBRATED, {**COLUMNS, "after": leak(CALIBRATED.labels)}, n_resamples=19)


def test_the_true_class_is_refused_through_the_top_label():
    for column in (MANY.labels, MANY.labels == MANY.probs.argmax(axis=1)):
        with pytest.raises(ValueError, match="must be known before the outcome"):
            cal.search(MANY, {"x": column}, n_resamples=19)


def test_a_number_that_separates_few_events_is_refused_unless_predictions_do():
    rng = np.random.default_rng(4)
    for events, refused in ((10, True), (9, False)):
        y = np.arange(200) < events
        x = 5.0 * y + rng.random(200)
        p = rng.beta(1, 20, 200)
        if refused:
            with pytest.raises(ValueError, match="must be known before the outcome"):
                cal.search(p, y, {"x": x}, n_resamples=19)
        else:
            assert cal.search(p, y, {"x": x}, n_resamples=19).suspect == ("x",)
        assert cal.search(0.1 + 0.1 * x, y, {"x": x}, n_resamples=19).suspect == ()


def test_a_column_that_half_knows_is_warned_of():
    half = np.where(RNG.random(N) < 0.55, CALIBRATED.labels.astype(str), "")
    found = cal.search(CALIBRATED, {**COLUMNS, "result": half}, n_resamples=19)
    assert found.suspect == ("result",)
    assert "result tells much of the outcome: was it known before?" in str(found)
    assert cal.search(CALIBRATED, COLUMNS, n_resamples=19).suspect == ()


def test_patients_whose_rows_agree_are_no_leak():
    """Names and numbers of patients determine outcomes, but regions are not made of them."""
    patient = np.arange(N) // 3
    data = cal.Predictions(P, np.repeat(RNG.random(N // 3) < 0.4, 3))
    columns = {"patient": patient, "name": [f"patient {k}" for k in patient], **COLUMNS}
    found = cal.search(data, columns, n_resamples=19)
    assert [name for name, _ in found.left_out] == ["name"]
    assert found.suspect == ()


def test_an_honest_column_of_an_underconfident_model_is_not_suspect():
    rng = np.random.default_rng(3)
    score = rng.normal(size=2000) * 4
    labels = rng.random(2000) < 1 / (1 + np.exp(-score))
    found = cal.search(0.5 + 0.1 * np.tanh(score), labels, {"score": score}, n_resamples=19)
    assert found.suspect == ()


def test_the_price_of_looking():
    few = cal.search(CALIBRATED, {"site": SITE}, n_resamples=199)
    more = {f"x{k}": RNG.normal(size=N) for k in range(8)}
    many = cal.search(CALIBRATED, {**COLUMNS, **more}, n_resamples=199)
    assert few.price.n == many.price.n == 60
    assert few.price.alone < few.price.searched < many.price.searched
    assert "a region of 60 rows must be off by" in many.notes[0]


def test_where_nothing_differs_all_rows_are_the_region():
    data = cal.Predictions(np.full(N, 0.3), np.arange(N) % 2)
    found = cal.search(data, {"one": ["x"] * N}, n_resamples=99)
    assert (found.n_regions, found[0].conditions) == (1, "all rows")
    assert found[0].mask.all()
    assert found[0].bias == pytest.approx(-0.2)
    assert [name for name, _ in found.left_out] == ["one", "P(1)"]
    assert found.price.alone <= found.price.searched
    with pytest.raises(ValueError, match="`data` must have a region of 40 rows or more"):
        cal.search(cal.Predictions([0.3], [1]), n_resamples=19)


def test_refusals():
    weighted = cal.Predictions(P, DATA.labels, weights=np.ones(N))
    with pytest.raises(ValueError, match="`data` must have no weights here"):
        cal.search(weighted, COLUMNS)
    with pytest.raises(ValueError, match="must show two outcomes of each row, or be 'classes'"):
        cal.search(MANY, COLUMNS, lens="canonical")
    with pytest.raises(ValueError, match="must show two outcomes of each row"):
        cal.search(MANY, COLUMNS, lens=lenses.Pooled())
    with pytest.raises(ValueError, match="`depth` must be"):
        cal.search(DATA, COLUMNS, depth=3)
    with pytest.raises(ValueError, match="`n_resamples` must be"):
        cal.search(DATA, COLUMNS, n_resamples=9)
    with pytest.raises(ValueError, match="`data` must have a region of 700 rows or more"):
        cal.search(DATA, COLUMNS, min_rows=700)
    with pytest.raises(ValueError, match="`columns` must have a value for each of the 600 rows"):
        cal.search(DATA, {"x": [1, 2]})
    with pytest.raises(
        ValueError, match="`columns` must name columns that were kept beside the data; none"
    ):
        cal.search(DATA, ["age"])
    with pytest.raises(TypeError, match="`columns` must be a dict of columns"):
        cal.search(DATA, 3)
    few = cal.Predictions(P, DATA.labels, clusters=np.arange(N) % 4)
    with pytest.raises(ValueError, match="clusters"):
        cal.search(few, COLUMNS)
    fifteen = cal.Predictions(P, DATA.labels, clusters=np.arange(N) % 15)
    with pytest.raises(ValueError, match="a region of 40 rows or more and 20 clusters in which"):
        cal.search(fifteen, COLUMNS)


def test_two_classes_are_one_event():
    both = cal.search(DATA, COLUMNS, lens="classes", n_resamples=39)
    assert str(both) == str(cal.search(DATA, COLUMNS, n_resamples=39))


@pytest.mark.parametrize(("data", "lens"), [(DATA, None), (MANY, None), (MANY, "classes")], ids=str)
def test_tensors_have_the_bits_of_arrays(data, lens):
    torch = pytest.importorskip("torch")
    given = cal.Predictions(
        torch.tensor(data.probs), torch.tensor(data.labels), classes=data.classes
    )
    one, other = (cal.search(each, COLUMNS, lens=lens, n_resamples=99) for each in (data, given))
    assert one.to_dict() == other.to_dict()
    assert (one.largest == other.largest).all()
    assert (one.strongest.mask == other.strongest.mask).all()


def test_frames_and_what_results_offer():
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"prob": P, "y": DATA.labels, **COLUMNS})
    named = cal.search(frame, columns=["age", "site"], label="y", n_resamples=99)
    given = cal.search(DATA, frame.select("age", "site"), n_resamples=99)
    assert named.to_dict()["rows"] == given.to_dict()["rows"]
    assert json.loads(json.dumps(named.to_dict()))["n_regions"] == named.n_regions
    table = named.to_frame("polars")
    assert table["conditions"][0] == named[0].conditions
    assert {"low", "high", "pvalue", "bias", "n"} <= set(table.columns)
    assert named[0].conditions.replace("<", "&lt;") in named._repr_html_()
    assert repr(named) == f"<1 finding in {named.n_regions} regions>"
    chart = named.figure()
    assert named[0].conditions.replace("<", "&lt;") in chart.svg
    axes = named.plot()
    assert axes.get_yticklabels()[0].get_text().startswith(named[0].conditions)


def test_the_same_seed_gives_the_same_answer():
    one, two = (cal.search(DATA, COLUMNS, n_resamples=99, rng=4) for _ in range(2))
    assert (one.largest == two.largest).all()
    other = cal.search(DATA, COLUMNS, n_resamples=99, rng=5)
    assert (one.largest != other.largest).any()


def tilted(n, factor, rng):
    """Return predictions that are too extreme at site B by a factor of log-odds, and columns."""
    p, site = rng.beta(2, 2, n), rng.choice(list("ABC"), n)
    odds = np.log(p / (1 - p))
    truth = 1 / (1 + np.exp(-np.where(site == "B", factor * odds, odds)))
    return p, truth, {"site": site, "x": rng.normal(size=n)}


def test_a_slope_is_found_that_is_no_bias():
    rng = np.random.default_rng(1)
    p, truth, columns = tilted(4000, 0.4, rng)
    data = cal.Predictions(p, rng.random(4000) < truth)
    top = cal.search(data, columns, statistic="slope", n_resamples=199)[0]
    assert top.conditions == "site = B"
    odds, rows = np.log(p / (1 - p)), top.mask
    v = (p * (1 - p))[rows]
    away = odds[rows] - v @ odds[rows] / v.sum()
    off = (p - data.labels)[rows] @ away / np.sqrt(rows.sum() * (away**2).sum())
    assert top.off == top.extreme == pytest.approx(off, abs=1e-4)  # steps of 1/1024 of log-odds
    assert top.amount.startswith(f"overconfident, too extreme by {100 * off:.1f} points (")
    assert abs(top.bias) < 0.03
    truth = tilted(4000, 2.5, np.random.default_rng(1))[1]
    how = {"statistic": Slope(), "n_resamples": 199}
    under = cal.search(p, rng.random(4000) < truth, columns, **how)
    assert "underconfident, not extreme enough by" in under[0].sentence
    assert under.lines()[0][4] == "too extreme by"
    assert "too extreme by, percentage points" in under.figure().below
    assert "too extreme by" in under.plot().get_xlabel()


def test_the_level_of_slopes_and_what_their_intervals_cover():
    """At most 5 % rejected and missed; a slope taken as if it were the only one is, often."""
    rng = np.random.default_rng(9)
    rejected = naive = missed = alone = 0
    for seed in range(150):
        p, truth, columns = tilted(300, 1.0, rng)
        how = {"statistic": "slope", "n_resamples": 19, "rng": seed}
        found = cal.search(p, rng.random(300) < p, columns, **how)
        rejected += found.pvalue <= 0.05
        naive += found.evidence > 1.96
        p, truth, columns = tilted(600, 0.6, rng)
        top = cal.search(p, rng.random(600) < truth, columns, **how | {"n_resamples": 99}).strongest
        rows = top.mask
        v, odds = (p * (1 - p))[rows], np.log(p / (1 - p))[rows]
        away = odds - v @ odds / v.sum()
        norm = np.sqrt(rows.sum() * (away**2).sum())
        off = (p - truth)[rows] @ away / norm
        missed += not top.interval[0] <= off <= top.interval[1]
        alone += abs(top.off - off) > 1.96 * np.sqrt(v @ away**2) / norm
    assert rejected <= most(150, 0.05)
    assert missed <= most(150, 0.05)
    assert naive > most(150, 0.05)
    assert alone > most(150, 0.05)


def test_odds_of_sure_predictions_are_clipped():
    p = np.concatenate([np.zeros(200), np.ones(200), RNG.beta(2, 2, 600)])
    labels = RNG.random(1000) < p
    found = cal.search(p, labels, {"x": RNG.normal(size=1000)}, statistic="slope", n_resamples=99)
    assert np.isfinite(found.largest).all()
    assert np.isfinite(found.strongest.interval).all()


def test_refusals_of_slopes():
    with pytest.raises(ValueError, match="`statistic` must be bias or slope; found 'level'"):
        cal.search(DATA, COLUMNS, statistic="level")
    data = cal.Predictions(P, DATA.labels, clusters=np.arange(N) // 5)
    with pytest.raises(ValueError, match="`statistic` must be bias where rows have clusters"):
        cal.search(data, COLUMNS, statistic="slope")
    with pytest.raises(ValueError, match="times the squared distance of log-odds adds up to"):
        cal.search(np.full(600, 0.5), DATA.labels, COLUMNS, statistic="slope")
