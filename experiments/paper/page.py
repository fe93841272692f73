"""Write docs/paper.md from the results.

    python -m experiments.paper.page

Words are in `sections/`, numbers come from `results/` and `paper.json`; a sentence that depends on
a number says what that number says.
"""

from __future__ import annotations

from . import files
from .sections.gaussian import section_5_1
from .sections.inference import section_4_2_and_3
from .sections.introduction import found, introduction
from .sections.networks import section_5_2
from .sections.tables import appendix_d
from .sections.theory import appendix_a_to_c, section_1_to_3, section_4_1, section_4_4
from .sections.training import figure_3


def page() -> str:
    """Return the whole page."""
    names = ("examples", "gaussian_mixture", "tables", "calibrated", "figures", "training")
    examples, gaussian, tables, calibrated, shown, training = map(files.read, names)
    return (
        "\n\n".join(
            [
                introduction(tables),
                found(tables, calibrated, training),
                section_1_to_3(examples),
                section_4_1(gaussian),
                section_4_2_and_3(calibrated, tables),
                figure_3(training),
                section_4_4(),
                section_5_1(gaussian),
                section_5_2(shown, tables),
                appendix_a_to_c(examples),
                appendix_d(tables),
            ]
        )
        + "\n"
    )


def main() -> None:
    """Write the page."""
    files.PAGE.write_text(page(), "utf-8")


if __name__ == "__main__":
    main()
