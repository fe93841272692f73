r"""The area under the ROC curve, with an interval that holds with few events.

.. math:: A = P(p_1 > p_0) + \tfrac12 P(p_1 = p_0)

for predictions of a row with the event and of one without. Its interval has the ends t with

.. math:: |A - t| = z \sqrt{V(t) \max(1, D / V(A))}

V(t) is the variance of Hanley and McNeil (1982), with the mean of both numbers of rows for each
(Newcombe, 2006, method 5), and D that of DeLong et al. (1988), which needs no model. So an A of 1
has a lower limit below 1.
"""

import numpy as np

from calibrant.risks.sample import Floats, Measured, Risks

HALVINGS = 60


def area(risks: Risks) -> Measured:
    """Return the area under the ROC curve."""
    rows = [_effective(risks.weights[some]) for some in (risks.occurred, ~risks.occurred)]
    if min(rows) == 0:
        return Measured(np.nan, (0.0, 1.0))
    value, influence = placements(risks)
    z = risks.stretched(influence, max(_variance(value, *rows), 1e-12))
    low, high = (_end(value, end, z, *rows) for end in (0.0, 1.0))
    return Measured(value, (low, high))


def placements(risks: Risks) -> tuple[float, Floats]:
    """Return the area, and the influence (n,) of each row: its placement among the others."""
    values, places = np.unique(risks.p, return_inverse=True)
    w, occurred = risks.weights, risks.occurred
    sides = [np.bincount(places, w * some, values.size) for some in (occurred, ~occurred)]
    shares = [side / side.sum() for side in sides]
    below = [np.cumsum(share) - 0.5 * share for share in shares]  # of rows with a lower p
    area = float(shares[0] @ below[1])
    among = np.where(occurred, below[1][places], 1.0 - below[0][places]) - area
    counts = np.where(occurred, occurred.sum(), (~occurred).sum())
    correction = np.sqrt(counts / np.maximum(counts - 1, 1))
    return area, w * among / np.where(occurred, sides[0].sum(), sides[1].sum()) * correction


def _effective(weights: Floats) -> float:
    return float(weights.sum() ** 2 / (weights**2).sum()) if weights.size else 0.0


def _variance(area: float, events: float, others: float) -> float:
    """Return the variance of Hanley and McNeil, with mean numbers of rows."""
    mean = (events + others) / 2 - 1
    spread = (1 - area) / (2 - area) + area / (1 + area)
    return area * (1 - area) * (1 + mean * spread) / (events * others)


def _end(value: float, end: float, z: float, events: float, others: float) -> float:
    """Return the value towards an end of [0, 1] from which A is z standard errors away."""
    near, far = value, end
    for _ in range(HALVINGS):
        middle = 0.5 * (near + far)
        if (middle - value) ** 2 <= z * z * _variance(middle, events, others):
            near = middle
        else:
            far = middle
    return 0.5 * (near + far)
