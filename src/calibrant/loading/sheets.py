"""Files of other software: Excel, Stata and SPSS; need ``pip install 'calibrant[files]'``."""

from pathlib import Path

import polars as pl

from calibrant.checks.doors import needs
from calibrant.loading.columnar import Columnar


def excel(path: Path) -> Columnar:
    """Open the first sheet of a workbook, whose first row names the columns."""
    needs("reading Excel", "fastexcel", extra="files")
    return Columnar.of(pl.read_excel(path, engine="calamine").lazy())


def stata_or_spss(path: Path) -> Columnar:
    """Open a file of Stata or SPSS; values are as they are stored, not their labels."""
    needs("reading Stata and SPSS", "pyreadstat", extra="files")
    import pyreadstat  # noqa: PLC0415 (an extra)

    read = pyreadstat.read_dta if path.suffix.lower() == ".dta" else pyreadstat.read_sav
    columns, _ = read(str(path), output_format="dict")
    series = [pl.Series(name, values, strict=False) for name, values in columns.items()]
    return Columnar.of(pl.DataFrame([_without_gaps(one) for one in series]).lazy())


def _without_gaps(column: pl.Series) -> pl.Series:
    """Return a column whose missing values are no numbers, and whole numbers as such."""
    if not column.dtype.is_float():
        return column
    numbers = column.fill_nan(None)
    return numbers.cast(pl.Int64) if (numbers.drop_nulls() % 1 == 0).all() else numbers
