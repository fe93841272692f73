"""§1 to §4.1 and Appendices A to C: examples, propositions, theorems."""

from __future__ import annotations

from typing import Any

from ..words import holds, table, wrapped
from .rows import figure

EXAMPLES = "[`test_paper_examples.py`](../tests/test_paper_examples.py)"
LENS_TESTS = "[`test_lenses.py`](../tests/test_lenses.py)"


def section_1_to_3(examples: dict[str, Any]) -> str:
    """Cover §1 to §3: Figure 1 (later), Example 1, Proposition 1, Example 2."""
    one = examples["example1"]
    calm = [name for name, seen in one.items() if seen["pvalue"] > 0.05]
    return "\n\n".join(
        [
            "## §1 Introduction",
            "**Figure 1** is with the other diagrams of LeNet in §5.2.",
            "## §2 Problem formulation",
            wrapped(
                "**Example 1, Table 1, Figure 2.** *Paper:* a model can be calibrated for the top"
                " class and for every class by itself and yet not be calibrated. *Found:*"
                f" {holds(one['canonical']['pvalue'] <= 0.05 and len(calm) == len(one) - 1)}"
                f" {examples['rows']:,} rows drawn from Table 1, total variation; the true values"
                " are 0.1 for the canonical lens and 0 for the others. Without chance, from the"
                f" table itself: {EXAMPLES}."
            ),
            lens_table(one),
            figure("examples", "Examples 1 and 3 on the simplex"),
            wrapped(
                "Left Example 1, right Example 3: arrows from each prediction to the frequencies"
                " that follow it."
            ),
            wrapped(
                "**§2.1.** *Paper:* a model that is far from the truth in a proper score can be"
                " calibrated. *Found:* the constant model of §5.1 is one (Figure 11). That scoring"
                " rules can rank the same models differently was not examined here; the scores are"
                " `log_score`, `brier_score` and `spherical_score`."
            ),
            "## §3 Theoretical framework",
            wrapped(
                "**Proposition 1.** *Paper:* g(X) = P[Y | h(X)] is calibrated for every h."
                f" *Found:* holds, exactly on finite spaces and by simulation: {EXAMPLES}"
                " (`test_proposition_1_exactly`, `test_proposition_1_by_simulation`)."
            ),
            wrapped(
                "**Example 2.** *Paper:* canonical lens, fixed partition of the classes, the k"
                " largest predictions. *Found:* `Canonical`, `Groups`, `TopK`. Each agrees with"
                " the general `Induced` of its psi, and each keeps a calibrated model calibrated:"
                f" {LENS_TESTS} (`test_equals_induced`, `test_lens_law`)."
            ),
            wrapped(
                "**§3.2.** Expected and worst-case miscalibration, any distance, any region A:"
                " `ExpectedMiscalibration`, `WorstMiscalibration`, `Predictions.restrict`."
            ),
        ]
    )


def lens_table(example: dict[str, Any]) -> str:
    """Return the tests of a toy example."""
    return table(
        ["lens", "estimate", "mean if calibrated", "p, exact"],
        [
            [name, f"{r['estimate']:.4f}", f"{r['null_mean']:.4f}", f"{r['pvalue']:.3f}"]
            for name, r in example.items()
        ],
    )


def section_4_1(gaussian: dict[str, Any]) -> str:
    """Cover the theorems."""
    truth = gaussian["models"]["uncalibrated"]["truth"]
    limits = gaussian["limits"]
    below = all(row["limit"] <= truth for row in limits)
    return "\n\n".join(
        [
            "## §4.1 Estimators and their properties",
            wrapped(
                "**Theorem 1** (the estimate tends to the expected miscalibration as rows grow,"
                " then bins shrink) and **Theorem 2** (with fixed bins it tends to something"
                " that is not larger). *Found:* "
                f"{holds(below and abs(limits[-1]['limit'] - truth) < 1e-5)}"
                " Limits for the uncalibrated Gaussian mixture, by quadrature; its expected"
                f" miscalibration is {truth:.6f}. That estimates tend to these limits, within"
                f" bounds that hold but for a chance of one in a million: {EXAMPLES}."
            ),
            table(
                ["equally-sized bins", "limit of the estimate", "limit − truth"],
                [
                    [str(r["bins"]), f"{r['limit']:.6f}", f"{r['limit'] - truth:+.6f}"]
                    for r in limits
                ],
            ),
            wrapped(
                "The limits do not grow steadily with the number of bins: what counts is whether a"
                " bin holds deviations of both signs."
            ),
        ]
    )


def section_4_4() -> str:
    """Cover the diagrams in a line."""
    return "\n\n".join(
        [
            "## §4.4 Visualizing model miscalibration",
            wrapped(
                "`reliability_diagram`: deviations with consistency bars for two outcomes, arrows"
                " in the triangle for three and in the tetrahedron for four. All are shown in §5."
            ),
        ]
    )


def appendix_a_to_c(examples: dict[str, Any]) -> str:
    """Cover Examples 3 to 5, the partitions and where the figures are."""
    three, five = examples["example3"], examples["example5"]
    top = three["top label"]["pvalue"] > 0.05
    rest = all(seen["pvalue"] <= 0.05 for name, seen in three.items() if name != "top label")
    return "\n\n".join(
        [
            "## Appendix A.1: additional examples",
            wrapped(
                "**Example 3, Table 2, Figure 5.** *Paper:* calibrated for the top class, but for"
                f" no class by itself. *Found:* {holds(top and rest)} The true values are 0.2"
                " (canonical), 0 (top label), 0.1, 0.1 and 0.2. Figure 5 is the right half of the"
                f" picture in §2. Without chance: {EXAMPLES}."
            ),
            lens_table(three),
            wrapped(
                "**Example 4.** *Paper:* marginalised calibration, all pairs of a predicted"
                " probability and whether its class occurred. *Found:* the lens `Pooled`. Its pairs"
                " are not independent, so labels are drawn before the lens is applied:"
                f" {LENS_TESTS}."
            ),
            wrapped(
                "**Example 5.** *Paper:* one row, one bin: the bias is 0 for the perfect and 1/2"
                " for the constant model, though both are calibrated. *Found:*"
                f" {holds(five == {'perfect': 0.0, 'constant': 0.5})} {five['perfect']:g} and"
                f" {five['constant']:g}."
            ),
            wrapped(
                "**A.2, proofs.** Proposition 1: §3. Theorems 1 and 2: §4.1, with the tests named"
                " there."
            ),
            "## Appendix B: binning schemes",
            wrapped(
                "Equally-sized bins are `EqualWidth(10)`, data-dependent ones `VarianceTree(1000)`:"
                " a node with at least 1000 rows is split at the mean of the coordinate with the"
                " highest variance. Both agree with the authors' estimator:"
                " [`test_reference.py`](../tests/test_reference.py)."
            ),
            "## Appendix C: additional visualizations",
            "Figures 6 to 14 are in §5.1, Figures 15 to 18 in §5.2.",
        ]
    )
