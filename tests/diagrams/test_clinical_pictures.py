"""The pictures of clinicians and forecasters, as data and in both renderers."""

import numpy as np
import pytest
from scipy.special import expit

import calibrant as cal
from calibrant import Predictions
from calibrant.diagrams.picture import Areas, Lines


def drawn(seed=0, n=300):
    rng = np.random.default_rng(seed)
    x = rng.normal(-1, 1.5, n)
    labels = (rng.random(n) < expit(x)).astype(int)
    return Predictions(expit(x), labels, classes=["no", "yes"])


def looks(picture, kind):
    return [part.look for part in picture.parts if isinstance(part, kind)]


def test_the_flexible_curve_is_within_its_band():
    diagram = cal.flexible_diagram(drawn())
    curve = diagram.found.curve
    assert (curve.low <= curve.y).all()
    assert (curve.y <= curve.high).all()
    picture = diagram.picture()
    assert looks(picture, Lines) == ["zero", "curve"]
    assert picture.summary[0].startswith("O/E ")
    assert diagram.histogram.sum() == pytest.approx(1)
    assert diagram.to_dict()["event"] == "yes"
    assert diagram.sentence.startswith("Flexible calibration curve, O/E ")


def test_a_decision_curve_shows_treating_all_and_none():
    data = drawn()
    diagram = cal.decision_curve(data)
    picture = diagram.picture()
    assert looks(picture, Lines) == ["zero", "mean", "curve"]
    assert looks(picture, Areas) == ["band"]
    (found,) = diagram.series.values()
    low, high = picture.frame.y
    for part in picture.parts:
        if isinstance(part, Lines):
            assert low - 1e-12 <= part.at[..., 1].min() <= part.at[..., 1].max() <= high
    assert found.treat_all[0] == pytest.approx(
        data.labels.mean()
        - (1 - data.labels.mean()) * found.thresholds[0] / (1 - found.thresholds[0])
    )
    assert (np.diff(found.thresholds).round(9) == 0.01).all()


def test_decision_curves_of_several_models_have_no_bands():
    diagram = cal.decision_curve({"one": drawn(), "two": drawn(1)})
    assert looks(diagram.picture(), Areas) == []
    assert [key.name for key in diagram.picture().keys][:2] == ["one", "two"]
    assert diagram.sentence.startswith("one: the net benefit is above")


def test_treating_all_begins_at_the_rate_and_a_band_of_few_events_is_whole():
    data = drawn()
    rare = Predictions(data.probs[:, 1] / 20, (np.arange(data.n) == 7).astype(int))
    picture = cal.decision_curve(rare).picture()
    line = next(part for part in picture.parts if getattr(part, "look", "") == "mean")
    assert line.at[0, 0].tolist() == pytest.approx([0.0, 1 / data.n])
    band = next(part for part in picture.parts if isinstance(part, Areas))
    assert band.at[..., 1].max() < picture.frame.y[1]
    none = cal.decision_curve(Predictions(data.probs[:, 1] / 20, np.zeros(data.n, int)))
    assert none.picture().frame.y[1] > 0


def test_an_attributes_diagram_has_climatology_and_no_skill():
    data = drawn()
    diagram = cal.reliability_diagram(data, n_resamples=99, rng=0)
    picture = diagram.picture("attributes")
    rate = data.labels.mean()
    level, none = (part for part in picture.parts[1:3])
    assert level.at[0, :, 1] == pytest.approx(rate)
    assert none.at[0, :, 1] == pytest.approx([rate / 2, (1 + rate) / 2])
    level, none = diagram.picture("attributes", climatology=0.4).parts[1:3]
    assert level.at[0, :, 1].tolist() == [0.4, 0.4]
    assert none.at[0, :, 1].tolist() == [0.2, 0.7]
    with pytest.raises(ValueError, match="`climatology` must be between 0 and 1; found 40"):
        diagram.picture("attributes", climatology=40)
    with pytest.raises(ValueError, match="`climatology` is for 'attributes', not for 'line'"):
        diagram.picture("line", climatology=0.4)
    with pytest.raises(ValueError, match="attributes diagram is for one model"):
        cal.reliability_diagram({"a": data, "b": data}, n_resamples=99, rng=0).picture("attributes")


@pytest.mark.parametrize("make", [cal.flexible_diagram, cal.decision_curve])
def test_both_renderers_draw(make):
    diagram = make(drawn())
    assert diagram.plot().get_xlabel()
    assert "net benefit" in str(diagram.figure().figure) or "O/E" in str(diagram.figure().figure)
    assert diagram._repr_html_()


def test_pictures_of_clinical_papers_have_tables():
    data = drawn()
    flexible = cal.flexible_diagram(data)
    header, lines = flexible.lines()
    assert header == ("predicted", "observed", "95\N{NO-BREAK SPACE}% interval")
    assert len(lines) == len(flexible.records()) > 5
    assert flexible.records()[0]["observed"] == flexible.found.curve.y[0]
    both = cal.decision_curve({"one": data, "two": drawn(1)})
    header, lines = both.lines()
    assert header[:2] == ["model", "threshold"]
    assert {line[0] for line in lines} == {"one", "two"}
    first = both.records()[0]
    assert first["net_benefit"] == both.series["one"].value[0]
