"""Small diagrams, read as text."""

import re

import numpy as np
from models import at

from calibrant import Predictions, reliability_diagram
from calibrant.reporting.sparks import spark

DATA = at((0.15, 500, 75), (0.55, 20, 14))  # deviations 0 and 0.15


def test_a_dot_beyond_the_reach_is_a_triangle_at_the_edge():
    diagram = reliability_diagram(DATA, rng=0)
    assert spark(diagram, 0.2).count("<circle") == 2
    clipped = spark(diagram, 0.1)
    assert clipped.count("<circle") == 1
    ((tip, base),) = re.findall(r'<polygon points="[\d.]+,([\d.]+) [\d.]+,([\d.]+)', clipped)
    assert (float(tip), float(base)) == (2.0, 9.0)  # it points up, from the edge at 6


def test_tooltips_have_rows_or_their_weight():
    assert "<title>20 rows: predicted 0.550" in spark(reliability_diagram(DATA, rng=0), 0.2)
    weighted = Predictions(DATA.probs, DATA.labels, weights=np.full(520, 1.23456))
    text = spark(reliability_diagram(weighted, rng=0), 0.2)
    assert "<title>Rows of weight 24.69: predicted 0.550" in text
