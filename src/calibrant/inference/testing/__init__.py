"""Tests and estimates: of one statistic, of every class, of every bin, of rows that come and go."""
