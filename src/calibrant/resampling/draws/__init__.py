"""Replicates as resamplers draw them: labels, counts of cells, rows, signs of clusters.

Each kind answers what a statistic asks of a block of replicates (`calibration.replicates`), of rows
at hand; `…Away` says what is added up over rows that are elsewhere, and answers from that.
"""
