"""Predictions from files and frames: which columns are what, and what is wrong with a file.

`load` reads a file, `from_frame` takes a data frame by the same rules; the rules are in
`rules`. Each way of storing columns is one module; `assembly` makes `Predictions` of them.
"""

from calibrant.loading.files import from_frame, load

__all__ = ["from_frame", "load"]
