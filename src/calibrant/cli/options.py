"""Options and arguments that commands share."""

from pathlib import Path
from typing import Annotated

import typer

FORMATS = "CSV, TSV, Parquet, Arrow, NPZ, JSON, Excel, Stata or SPSS; - for standard input"
LENSES = "Aspect to look at: canonical, top, top:3, class:NAME, groups:0-2|3-5|6-9 or pooled"
PARTITIONS = "width:10, simplex:5, mass:15, tree:1000 or tree:1000:median"
DISTANCES = "tv, euclidean or squared"
STATISTICS = (  # as in statistics.spelled, which would load NumPy
    "ece, ece:10, mce, ace, rms, classwise_ece, kernel:0.1, cox, neyman, log, worst-class,"
    " squared:tree:1000, smooth, cutoff, kolmogorov, two-bin or spiegelhalter"
)
METHODS = (
    "temperature, vector, matrix, dirichlet, dirichlet:0.1, isotonic, beta or histogram:width:10"
)

File = Annotated[Path, typer.Argument(metavar="FILE", help=f"Predictions and labels: {FORMATS}.")]
FileOrFolder = Annotated[
    Path,
    typer.Argument(
        metavar="FILE",
        help=f"Predictions and labels: {FORMATS};"
        " or a folder or pattern of Parquet; a large one is read in batches.",
    ),
]
Files = Annotated[
    list[Path], typer.Argument(metavar="FILE…", help="Files of predictions and labels.")
]
Label = Annotated[str | None, typer.Option(help="Column of the labels.")]
Probs = Annotated[
    str | None, typer.Option(help="Columns of the probabilities, separated by commas.")
]
Classes = Annotated[str | None, typer.Option(help="Names of the classes, separated by commas.")]
Weight = Annotated[str | None, typer.Option(help="Column of the weights.")]
Logits = Annotated[bool, typer.Option("--logits", help="The columns hold logits.")]
Normalize = Annotated[
    bool, typer.Option("--normalize", help="The values were rounded: divide each row by its sum.")
]
Percent = Annotated[
    bool, typer.Option("--percent", help='The values are percentages: 90, or "90 %".')
]
DecimalComma = Annotated[
    bool, typer.Option("--decimal-comma", help="Numbers use a decimal comma: 0,25.")
]
DropMissing = Annotated[
    bool, typer.Option("--drop-missing", help="Leave out rows with missing values, and say which.")
]
Ignore = Annotated[str | None, typer.Option(help="Columns to leave out, separated by commas.")]
Model = Annotated[
    str | None,
    typer.Option(help="Column that names the model of each row; COLUMN=NAME takes one model."),
]
Row = Annotated[
    str | None,
    typer.Option(help="For a folder: column of unique whole numbers that labels are drawn by."),
]
Engine = Annotated[
    str | None,
    typer.Option(help="For a folder, what reads it: local, dask://host:8786 or spark://host:7077."),
]
Id = Annotated[
    str | None, typer.Option(help="Column that identifies each row, to join the rows of models.")
]
Cluster = Annotated[
    str | None,
    typer.Option(help="Column that says which rows depend on each other: patient, document, day."),
]
By = Annotated[
    str | None,
    typer.Option(help="Columns whose groups are used, such as sex,age; separated by commas."),
]
Region = Annotated[
    str | None, typer.Option(help='Only rows whose predictions satisfy a condition: "dog > 0.1".')
]
LensText = Annotated[str, typer.Option("--lens", help=f"{LENSES}.")]
LensTexts = Annotated[list[str] | None, typer.Option("--lens", help=f"{LENSES}; may be repeated.")]
PartitionText = Annotated[str | None, typer.Option("--partition", help=f"{PARTITIONS}.")]
PartitionTexts = Annotated[
    list[str] | None, typer.Option("--partition", help=f"{PARTITIONS}; may be repeated.")
]
DistanceText = Annotated[str, typer.Option("--distance", help=f"{DISTANCES}.")]
DistanceTexts = Annotated[
    list[str] | None, typer.Option("--distance", help=f"{DISTANCES}; may be repeated.")
]
StatisticText = Annotated[
    str | None,
    typer.Option("--statistic", help=f"{STATISTICS}. Default: a few of them, tested together."),
]
StatisticTexts = Annotated[
    list[str] | None, typer.Option("--statistic", help=f"{STATISTICS}; may be repeated.")
]
Resamples = Annotated[int, typer.Option(min=1, max=10_000_000, help="Number of data sets drawn.")]
Seed = Annotated[int, typer.Option(min=0, help="The same seed gives the same numbers.")]
Json = Annotated[bool, typer.Option("--json", help="Write JSON instead of tables.")]
Output = Annotated[Path, typer.Option("--output", "-o", help="File to write.")]
