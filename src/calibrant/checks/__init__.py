"""Checks at the border: a clear sentence, or a value that everything below can rely on.

Parameters, arrays, labels and seeds. It knows the engine and nothing else of the package.
"""
