"""The opening: what the page is, the networks, and what was found in short."""

from __future__ import annotations

from typing import Any

from .. import files
from ..words import holds, table, wrapped
from .rows import FINE, best_rows, lenet_pvalues, span


def introduction(tables: dict[str, Any]) -> str:
    """Say what this page is and which networks it is about."""
    paper = files.facts()["accuracy"]
    rows = [
        [
            title,
            f"{paper[name][0]:.3f} ± {paper[name][1]:.3f}",
            f"{tables['networks'][name]['accuracy']:.4f}"
            f" ± {tables['networks'][name]['accuracy_standard_error']:.4f}",
            f"{tables['networks'][name]['accuracy'] - paper[name][0]:+.4f}",
            f"{tables['networks'][name]['log_score']:.4f}",
        ]
        for name, title in files.NETWORKS.items()
    ]
    return "\n\n".join(
        [
            "# The paper, redone",
            wrapped(
                "Every table, figure and claim of *Evaluating model calibration in"
                " classification* (Vaicenavicius, Widmann, Andersson, Lindsten, Roll, Schön;"
                " AISTATS 2019), in its order, with what this library finds beside it."
                " `make paper` writes this page, its figures and the numbers behind it"
                " (`experiments/paper/results/`) from the committed predictions, in minutes on"
                " two cores; each script in `experiments/paper/` has its seed. How the networks"
                " were trained, and how to train them again, is in"
                " [experiments/README.md](../experiments/README.md)."
            ),
            wrapped(
                "The networks are not the authors'. They were trained on JPEG-compressed images"
                " of CIFAR-10, with architectures of the same families, and are less accurate"
                " (± is the bootstrap standard error over the test images):"
            ),
            table(
                ["network", "accuracy, paper", "accuracy, ours", "difference", "log score, ours"],
                rows,
            ),
            wrapped(
                "So the numbers of §5.2 and Appendix D are those of other models, and only"
                " patterns can be compared. The paper states its formulas, the toy examples and"
                " the Gaussian mixture exactly; there the numbers themselves must agree."
            ),
            wrapped(
                "p-values are (1 + number of resamples at least as large) / (1 + number of"
                " resamples). *Consistency* is the paper's resampling (§4.2): predictions are"
                " drawn with replacement, then labels from them. *Exact* keeps the predictions"
                " and draws labels only; it is the default of this library."
            ),
        ]
    )


def found(tables: dict[str, Any], calibrated: dict[str, Any], training: dict[str, Any]) -> str:
    """List what was found, in short."""
    fine = [r for r in calibrated["rows"] if (r["lens"], r["bins"]) == FINE]
    rest = [r for r in calibrated["rows"] if (r["lens"], r["bins"]) != FINE]
    data_sets = calibrated["data_sets"]
    ways = ("top-label-consistency", "top-label-exact")
    both = list(zip(*(best_rows(training, way) for way in ways), strict=True))
    rejected = sum(max(a["pvalue"], b["pvalue"]) <= 0.05 for a, b in both)
    points = [
        "The formulas, examples and theorems hold (§2 to §4.1, Appendix A).",
        "The statements on the Gaussian mixture hold (§5.1), with one addition: how often the"
        " uncalibrated model is under-estimated depends on the width of the bins, not only on"
        " the rows per bin.",
        "The paper's test rejects models that are calibrated by construction where bins hold few"
        f" rows: {span(r['consistency']['rejected'] for r in fine)} of {data_sets} data sets at 5 %"
        " with the canonical lens and equally-sized bins, for predictions of each of the three"
        f" networks; the exact test rejects {span(r['exact']['rejected'] for r in fine)}. In the"
        " other combinations of Tables 3 to 5 the paper's test rejects"
        f" {span(r['consistency']['rejected'] for r in rest)} and the exact one"
        f" {span(r['exact']['rejected'] for r in rest)} (§4.3).",
        "The tables' “squared Euclidean” distance is the Euclidean distance (Appendix D).",
        "*LeNet on MNIST is miscalibrated where its likelihood is best* (Figure 3)"
        f" {holds(rejected == len(both))} Calibration of the top label is rejected there in"
        f" {rejected} of {len(both)} trainings by both tests.",
        "Different from the paper: our LeNet on CIFAR-10 is not consistent with calibration"
        f" ({lenet_pvalues(tables)}).",
    ]
    return "## In short\n\n" + "\n".join(wrapped(point, first="- ", rest="  ") for point in points)
