"""§5.2: diagrams of the networks."""

from __future__ import annotations

from typing import Any

from .. import files
from ..words import holds, table, wrapped
from .rows import BINS, FINE, figure, lenet_pvalues, order, ours_of, paper_of


def section_5_2(shown: dict[str, Any], tables: dict[str, Any]) -> str:
    """Cover the diagrams of the networks."""
    lenet = shown["lenet"]
    calm = all(d["off"] == 0 for d in lenet["top label"].values())
    others = [shown[name]["top label"]["data-dependent"] for name in ("resnet", "densenet")]
    parts = [
        "## §5.2 Neural networks",
        wrapped(
            "Bars hold the deviation of a calibrated model with probability 90 %, as in the paper,"
            " but come from the exact distribution of each bin's count. A bin is significant if its"
            " p-value is at most 5 % after adjustment for all bins of the diagram. With"
            " groups a bin is outside if any of its outcomes is outside its own 90 % limits."
        ),
        wrapped(
            "*Paper:* the diagrams of LeNet (Figures 4 and 1) are consistent with a calibrated"
            f" model. *Found:* {holds(calm)} Our LeNet is overconfident by"
            f" {-lenet['top label']['equally-sized']['mean_signed_deviation']:.4f} on average; with"
            f" equally-sized bins {off(lenet['top label']['equally-sized'])}, with data-dependent"
            f" bins {off(lenet['top label']['data-dependent'])}. The tests of the top label agree"
            f" ({lenet_pvalues(tables)}). It is another LeNet, on other images; the deviation is"
            " small beside that of the deep networks."
        ),
        wrapped(
            "*Paper:* the diagrams of DenseNet and ResNet, in particular with data-dependent bins,"
            " do not support calibration to the same extent. *Found:*"
            f" {holds(all(d['off'] > lenet['top label']['data-dependent']['off'] for d in others))}"
            + " Overconfident by "
            + " and ".join(
                f"{-shown[name]['top label']['equally-sized']['mean_signed_deviation']:.4f}"
                f" ({files.NETWORKS[name]})"
                for name in ("densenet", "resnet")
            )
            + "."
        ),
        diagrams_table(shown),
    ]
    for name in ("lenet", "densenet", "resnet"):
        one, two = shown[name]["figures"]
        title = files.NETWORKS[name]
        parts += [
            f"### {title}: Figures {one} and {two}",
            figure(f"{name}-top-label", f"Figure {one}: top label of {title}"),
            figure(f"{name}-three-groups", f"Figure {two}: three groups of classes, {title}"),
            figure(f"{name}-four-groups", f"Four groups of classes, {title}"),
        ]
    return "\n\n".join(
        [
            *parts,
            wrapped(
                "In each: the top label with equally-sized and data-dependent bins; groups {0, 1,"
                " 2}, {3, 4, 5}, {6, 7, 8, 9} with 25 and 100 bins; and, described in §4.4 but"
                " not shown in the paper, four groups {0, 1, 2}, {3, 4, 5}, {6, 7}, {8, 9} with 64"
                " bins."
            ),
            estimates_5_2(tables),
        ]
    )


def off(diagram: dict[str, Any]) -> str:
    """Say how many bins are significant."""
    return (
        f"{diagram['off']} of {diagram['cells']} bins are significant and"
        f" {diagram['outside_pointwise']} outside their bar"
    )


def diagrams_table(shown: dict[str, Any]) -> str:
    """Return what all diagrams of the networks show."""
    rows = []
    for name, title in files.NETWORKS.items():
        one, two = shown[name]["figures"]
        listed = [
            *((f"{one}", f"top label, {bins}", d) for bins, d in shown[name]["top label"].items()),
            *((f"{two}", f"3 groups, {k}", d) for k, d in shown[name]["three groups"].items()),
            ("–", "4 groups, 64", shown[name]["four groups"]),
        ]
        rows += [
            [
                title,
                number,
                what,
                str(d["cells"]),
                str(d["outside_pointwise"]),
                str(d["off"]),
                f"{100 * d['share_of_rows_in_them']:.1f} %",
            ]
            for number, what, d in listed
        ]
    return table(
        ["network", "figure", "bins", "occupied", "outside 90 %", "significant", "rows in these"],
        rows,
    )


def estimates_5_2(tables: dict[str, Any]) -> str:
    """Compare the order of the networks in the paper and here."""
    rows = []
    agree = True
    by_chance = {
        r["network"]: r["exact"]["mean"]
        for r in ours_of(tables)
        if (r["lens"], r["bins"], r["distance"]) == (*FINE, "total variation")
    }
    for lens in ("canonical", "maximum"):
        for bins in BINS:
            ours, paper = (order(source, lens, bins) for source in (ours_of(tables), paper_of()))
            smaller = [
                {n for n in ("resnet", "densenet") if o[n] < o["lenet"]} for o in (ours, paper)
            ]
            agree = agree and smaller[0] == smaller[1]
            rows.append([lens, bins, listed(paper, 3), listed(ours, 4)])
    return "\n\n".join(
        [
            wrapped(
                "*Paper:* ResNet and DenseNet can have lower estimates than LeNet, in contrast to"
                " the diagrams; the binning scheme matters. *Found:* "
                f"{holds(agree)} Which of the two deep networks have lower estimates than LeNet is"
                " the same in all four combinations: both with the canonical lens and equally-sized"
                " bins, neither elsewhere. That exception comes from chance, not from calibration:"
                " LeNet's predictions are spread over more bins, and if they were calibrated the"
                f" estimate would still be {by_chance['lenet']:.4f} on average (ResNet"
                f" {by_chance['resnet']:.4f}, DenseNet {by_chance['densenet']:.4f}). Total"
                " variation:"
                if agree
                else "*Paper:* ResNet and DenseNet can have lower estimates than LeNet; the binning"
                f" scheme matters. *Found:* {holds(False)} Total variation:"
            ),
            table(["lens", "bins", "paper, in rising order", "ours, in rising order"], rows),
        ]
    )


def listed(estimates: dict[str, float], digits: int) -> str:
    """Write estimates in rising order."""
    ranked = sorted(estimates.items(), key=lambda item: item[1])
    return ", ".join(f"{files.NETWORKS[name]} {value:.{digits}f}" for name, value in ranked)
