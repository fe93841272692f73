"""Cells on a device: every bit of the totals of the data and of replicates."""

from unittest import mock

import numpy as np
import pytest

pytest.importorskip("torch")

import torch
from tensors import DEVICES, on, problem, there

from calibrant import (
    Predictions,
    calibration_test,
    distances,
    lenses,
    partitions,
    statistics,
)
from calibrant.device import cells, grid, norms

DRAWN = cells.DeviceCells.null_totals
DISTANCES = [distances.total_variation, distances.euclidean, distances.squared_euclidean]
LENSES = [lenses.Canonical(), lenses.TopLabel(), lenses.Marginal(1)]
PROBLEMS = {
    "few outcomes": problem(300, 10),
    "few outcomes, weights": problem(300, 10, np.float64, 6, weighted=True),
    "three": problem(300, 3, np.float64),
    "two": problem(300, 2, np.float64, weighted=True),
    "many, one cell": problem(300, 40),
    "many, cells of one row": problem(200, 40, np.float64, 12),
    "many, cells of few rows": problem(300, 60, power=25, copies=True),
    "many, cells of few rows, weights": problem(300, 60, power=25, copies=True, weighted=True),
    "many, weights": problem(300, 33, np.float64, 9, weighted=True),
    "one row": problem(1, 4),
}


def both(kind, name, lens, partition):
    """Return statistics of all norms and seven replicates of each, on the host and on a device."""
    asked = [
        *(statistics.ExpectedMiscalibration(partition, distance) for distance in DISTANCES),
        statistics.WorstMiscalibration(partition),
    ]
    found = []
    with mock.patch.object(
        cells.DeviceCells, "null_totals", autospec=True, side_effect=DRAWN
    ) as drawn:
        for data in (
            Predictions(*PROBLEMS[name][:2], weights=PROBLEMS[name][2]),
            there(kind, *PROBLEMS[name]),
        ):
            assert not drawn.called
            tests = [calibration_test(data, eta, lens=lens, n_resamples=7, rng=5) for eta in asked]
            found.append([np.append(test.null, test.statistic) for test in tests])
    assert drawn.call_count >= len(asked)
    return found


@pytest.mark.parametrize("kind", DEVICES)
@pytest.mark.parametrize("lens", LENSES, ids=str)
@pytest.mark.parametrize("name", PROBLEMS)
def test_totals_have_the_bits_of_the_host(kind, lens, name, monkeypatch):
    on(kind, monkeypatch)
    for partition in (*map(partitions.EqualWidth, (10, 3, 1)), partitions.SimplexBins(3)):
        host, device = both(kind, name, lens, partition)
        for here, away in zip(host, device, strict=True):
            assert here.tobytes() == away.tobytes()


@pytest.mark.parametrize("kind", DEVICES)
def test_what_is_laid_out_at_a_time_shows_in_no_bit(kind, monkeypatch):
    on(kind, monkeypatch)
    names = ("few outcomes, weights", "many, cells of few rows", "many, weights", "two")
    whole = {name: both(kind, name, LENSES[0], partitions.EqualWidth(3))[1] for name in names}
    monkeypatch.setattr(cells, "ENTRIES", 2000)
    monkeypatch.setattr(cells, "EVENTS", 2000)
    monkeypatch.setattr(cells, "SIDE", 3)
    monkeypatch.setattr(norms, "COLUMNS", 2000)
    monkeypatch.setattr(norms, "TERMS", 2000)
    monkeypatch.setattr(grid, "ENTRIES", 2000)
    for name in names:
        for one, other in zip(
            whole[name], both(kind, name, LENSES[0], partitions.EqualWidth(3))[1], strict=True
        ):
            assert one.tobytes() == other.tobytes()


@pytest.mark.parametrize("kind", DEVICES)
def test_boxes_that_share_a_hash_are_left_to_the_host(kind, monkeypatch):
    on(kind, monkeypatch)
    data = there(kind, *problem(50, 40))
    assert cells.boxes(data.on_device, (0, 39), 30) is not None
    monkeypatch.setattr(grid, "_hashed", lambda digits, _: torch.zeros(len(digits), device=kind))
    monkeypatch.setattr(grid.fused, "usable", lambda _: False)
    assert cells.boxes(data.on_device, (0, 39), 30) is None
    assert cells.simplices(data.on_device, (0, 39), 30) is None
    eta = statistics.ExpectedMiscalibration(partitions.EqualWidth(30))
    assert eta(data) == eta(Predictions(*problem(50, 40)[:2]))
