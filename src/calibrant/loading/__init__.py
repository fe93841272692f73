"""Predictions from files and frames: which columns are what, and what is wrong with a file.

`load` reads a file, `load_models` several models, `from_frame` takes a data frame by the same
rules, which are in `roles` and `rules`. `formats` knows which module opens a file (`delimited`,
`columnar`, `json_files`; `npz` has arrays), and `table` holds the checked rows of it.
"""

from calibrant.loading.files import from_frame, load, load_models
from calibrant.loading.reading import Reading
from calibrant.loading.scanned import scan

__all__ = ["Reading", "from_frame", "load", "load_models", "scan"]
