"""Where predictions are off: regions of rows, with p-values that have paid for the search."""

from calibrant.regions.measures import Bias, Slope
from calibrant.regions.result import Region, Regions
from calibrant.regions.searching import search

__all__ = ["Bias", "Region", "Regions", "Slope", "search"]
