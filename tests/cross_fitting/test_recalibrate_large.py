"""Of many probabilities, the size that is left is told from some rows."""

import numpy as np
from chance import outcomes, wrap

from calibrant.cross_fitting import before_after


def test_some_rows_are_the_same_ones_before_and_after():
    rng = np.random.default_rng(0)
    probs = rng.dirichlet(np.ones(3), 5000)
    data = wrap(probs, outcomes(rng, probs))
    assert before_after.some_rows(data, 7) is data
    some = before_after.some_rows(data, 7, 9000)
    other = before_after.some_rows(data.with_probs(probs[:, ::-1].copy()), 7, 9000)
    assert some.n == 3000
    np.testing.assert_array_equal(some.labels, other.labels)
    np.testing.assert_array_equal(some.probs, other.probs[:, ::-1])
    assert before_after.some_rows(data, 7, 9).n == before_after.FEWEST_ROWS
