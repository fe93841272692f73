"""One adjustment for a page: a calibrated model has a significant claim on 5 % of them at most."""

import numpy as np
import pytest
from chance import most, outcomes, wrap

from calibrant import evaluate
from calibrant.reporting.contents import Settings, compute
from calibrant.reporting.judging import adjustment
from calibrant.words import ALPHA

TRIALS, B = 60, 39


def claims(page):
    """Return whether each box of a page claims anything."""
    found = [any(verdict.rejected for verdict in page.evaluation.verdicts)]
    found += [drawing.diagram.n_off > 0 for drawing in (*page.drawings, *page.class_drawings)]
    found += [any(line.off for line in page.verdicts), bool(page.worst_bins())]
    if page.by_class is not None:
        found.append(bool(page.by_class.significant.any()))
    if page.curve is not None:
        found.append(page.curve.series[0].pvalue <= ALPHA)
    if page.classes is not None:
        found.append(bool((page.classes.adjusted_pvalues <= ALPHA).any()))
        found.append(page.classes.mean_pvalue <= ALPHA)
    return found


def page_of(data, seed, monkeypatch):
    monkeypatch.setattr("calibrant.reporting.contents.remedy", lambda *_: None)
    evaluation = evaluate(data, n_resamples=B, rng=seed)
    return compute("", data, evaluation, Settings(seed, B, None, None))


@pytest.mark.parametrize(("m", "n"), [(2, 300), (6, 200)])
def test_pages_of_calibrated_models(m, n, monkeypatch):
    rng, pages, boxes = np.random.default_rng(m), 0, 0
    for seed in range(TRIALS):
        probs = rng.dirichlet(np.ones(m), n)
        found = claims(page_of(wrap(probs, outcomes(rng, probs)), seed, monkeypatch))
        pages += any(found)
        boxes += sum(found)
    assert pages <= most(TRIALS, ALPHA)
    assert boxes >= pages


def test_a_bad_model_is_found_in_every_box(monkeypatch):
    rng = np.random.default_rng(0)
    probs = rng.dirichlet(np.full(3, 0.3), 3000)
    truth = probs**0.3 / (probs**0.3).sum(axis=1, keepdims=True)
    found = claims(page_of(wrap(probs, outcomes(rng, truth)), 0, monkeypatch))
    assert all(found)


def test_the_adjustment_by_plain_loops():
    rng = np.random.default_rng(1)
    families = [(float(rng.normal()), rng.normal(size=29)) for _ in range(4)]
    columns = np.stack([np.append(value, null) for value, null in families])
    smallest = []
    for b in range(30):
        p = [np.mean(columns[f] >= columns[f, b]) for f in range(4)]
        smallest.append(min(p))
    adjust = adjustment(families)
    for p in (1 / 30, 0.1, 0.5, 1.0):
        expected = np.mean([low <= p + 1e-9 for low in smallest])
        assert float(adjust(np.array(p))) == pytest.approx(expected)


def test_p_values_never_become_smaller():
    rng = np.random.default_rng(5)
    probs = rng.dirichlet(np.ones(3), 300)
    data = wrap(probs, outcomes(rng, probs))
    evaluation = evaluate(data, n_resamples=B, rng=0)
    page = compute("", data, evaluation, Settings(0, B, None, None))
    for before, after in zip(evaluation.rows, page.evaluation.rows, strict=True):
        assert after.adjusted_pvalue >= before.adjusted_pvalue
    n_tests = page.evaluation.verdicts[0].n_tests
    assert n_tests > len(evaluation.rows)
    assert f"adjusted for {n_tests} tests" in page.verdicts[0].facts
