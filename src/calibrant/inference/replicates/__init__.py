"""Replicates: a problem, who drives it, and which way rows that are elsewhere take."""
