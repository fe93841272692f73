"""Predictions g(X) and outcomes Y, checked once and then immutable.

`held` has the arrays, `predictions` the ways to make them. It may use `checks` and the engine.
"""

from calibrant.predictions.held import Beside
from calibrant.predictions.predictions import Predictions

__all__ = ["Beside", "Predictions"]
