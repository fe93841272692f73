"""Bits of results, recorded once: no way of the rows, and no rewriting, may change them.

`settings` lists what is recorded, `rows` makes the data, `places` runs a setting in memory, on
files, in batches and on tensors, and `record` writes digests, or compares them. Everything goes
through public names, so that it runs on older and on newer code.
"""
