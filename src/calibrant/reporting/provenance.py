"""How a report was made: enough to compute every number again."""

from collections.abc import Sequence
from hashlib import sha256
from typing import Any

import numpy as np

from calibrant.diagrams import ReliabilityDiagram
from calibrant.predictions import Predictions
from calibrant.reporting.contents import BINS, Contents, Settings
from calibrant.rows import Scan


def provenance(
    contents: Sequence[Contents], together: ReliabilityDiagram | None, settings: Settings
) -> dict[str, Any]:
    """Return the version, the settings, and what identifies the data of each model."""
    from calibrant import __version__  # noqa: PLC0415

    return {
        "calibrant": __version__,
        "seed": settings.seed,
        "n_resamples": settings.n_resamples,
        "region": settings.region,
        "groups": None if settings.groups is None else str(settings.groups),
        "comparison_diagram": None if together is None else dict(together.settings),
        "models": [_model(c) for c in contents],
    }


def _model(contents: Contents) -> dict[str, Any]:
    data = contents.data
    repaired = contents.remedy.found
    return {
        "name": contents.name,
        "rows": data.n,
        "classes": data.m,
        "weighted": data.weighted,
        **origin(data),
        "settings": dict(contents.evaluation.settings),
        "diagrams": [dict(drawing.diagram.settings) for drawing in contents.drawings],
        "curve": None if contents.curve is None else dict(contents.curve.settings),
        "classwise": None if contents.classes is None else str(BINS),
        "class_diagrams": [dict(drawing.diagram.settings) for drawing in contents.class_drawings],
        "slices": None if contents.slices is None else dict(contents.slices.settings),
        "evaluation": contents.evaluation.to_dict()["rows"],
        "recalibration": None if repaired is None else dict(repaired.settings),
    }


def origin(data: Predictions | Scan) -> dict[str, Any]:
    """Return what identifies the rows: a hash of them, or where they were read from."""
    if not isinstance(data, Scan):
        return {"dtype": str(data.probs.dtype), "sha256": digest(data)}
    dtype = "float32" if data.columns.single else "float64"
    return {"dtype": dtype, "scanned": repr(data), "row": data.columns.row}


def digest(data: Predictions) -> str:
    """Return the SHA-256 of the classes, probabilities, labels and weights."""
    state = sha256()
    pieces: list[Any] = ["\x1f".join(data.classes).encode(), str(data.probs.dtype).encode()]
    pieces += [data.probs, data.labels, np.ascontiguousarray(data.weights)]
    for piece in pieces:
        state.update(piece)
    return state.hexdigest()
