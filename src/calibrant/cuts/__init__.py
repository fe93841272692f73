"""Columns beside predictions: their values gathered into groups, or cut into codes."""
