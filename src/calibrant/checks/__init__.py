"""Checks at the border: a clear sentence, or a value that everything below can rely on.

Parameters and seeds, arrays, labels, files. It knows the engine and nothing else of the package.
"""
