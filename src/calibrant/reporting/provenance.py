"""What a page was made of: enough to compute every number again."""

from collections.abc import Sequence
from hashlib import sha256
from typing import Any

import numpy as np

from calibrant.arguments import as_rows
from calibrant.diagrams import ReliabilityDiagram
from calibrant.inference.replicates.problem import fields
from calibrant.reporting.contents import BINS, Contents, Settings, Where


def provenance(
    contents: Sequence[Contents], together: ReliabilityDiagram | None, settings: Settings
) -> dict[str, Any]:
    """Return the version, the settings, and what identifies the data of each model."""
    from calibrant import __version__  # noqa: PLC0415

    return {
        "calibrant": __version__,
        **fields(settings, "seed", "n_resamples", "region", "groups"),
        "comparison_diagram": None if together is None else dict(together.settings),
        "models": [_origin_of(c) for c in contents],
    }


def _origin_of(contents: Contents) -> dict[str, Any]:
    data, by_class = contents.data, contents.by_class
    repaired = contents.remedy.found
    return {
        "name": contents.name,
        "rows": data.n,
        "classes": data.m,
        "weighted": data.weighted,
        **_origin(data),
        "settings": dict(contents.evaluation.settings),
        "diagrams": [dict(drawing.diagram.settings) for drawing in contents.drawings],
        "curve": None if contents.curve is None else dict(contents.curve.settings),
        "predicted_classes": None if by_class is None else dict(by_class.settings),
        "classwise": None if contents.classes is None else str(BINS),
        "class_diagrams": [dict(drawing.diagram.settings) for drawing in contents.class_drawings],
        "slices": None if contents.slices is None else dict(contents.slices.settings),
        "regions": _settings_of(contents.where),
        "evaluation": contents.evaluation.to_dict()["rows"],
        "recalibration": None if repaired is None else dict(repaired.settings),
    }


def _settings_of(where: Where | None) -> dict[str, Any] | None:
    """Return how regions were searched, if they were."""
    return None if where is None or where.found is None else dict(where.found.settings)


def _origin(data: Any) -> dict[str, Any]:
    """Return what identifies the rows: a hash of them, or where they were read from."""
    if not as_rows(data).held:
        dtype = "float32" if data.columns.single else "float64"
        return {"dtype": dtype, "scanned": repr(data), "row": data.columns.row}
    state = sha256()
    pieces: list[Any] = ["\x1f".join(data.classes).encode(), str(data.probs.dtype).encode()]
    pieces += [data.probs, data.labels, np.ascontiguousarray(data.weights)]
    for piece in pieces:
        state.update(piece)
    return {"dtype": str(data.probs.dtype), "sha256": state.hexdigest()}
