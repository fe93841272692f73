"""Draws on a device: the integers of the engine, one by one."""

import numpy as np
import pytest

pytest.importorskip("torch")

import torch
from integers import replicate_key, row_key, uniform
from tensors import DEVICES, problem

from calibrant import engine
from calibrant.checks.parameters import make_key
from calibrant.device import draws, grid, rows
from calibrant.engine.arrays import Replicates, Source

KEYS = [np.uint64(0), np.uint64(2**64 - 1), make_key(3)]
SHAPES = [(60, 2), (60, 3), (90, 32), (90, 33), (60, 200)]


def tensor(array, kind):
    return torch.from_numpy(array).to(kind)


@pytest.mark.parametrize("kind", DEVICES)
@pytest.mark.parametrize("key", KEYS)
def test_keys_and_numbers(kind, key):
    numbers = [0, 1, 2, 10**6, 2**40]
    hashed = draws.row_keys(int(key), torch.tensor(numbers, device=kind))
    assert [h % 2**64 for h in hashed.tolist()] == [row_key(int(key), i) for i in numbers]
    replicates = draws.replicate_keys(int(key), 5, 9, torch.device(kind))
    wanted = [replicate_key(int(key), b) for b in range(5, 9)]
    assert [h % 2**64 for h in replicates.tolist()] == wanted
    u = draws.uniforms(hashed, replicates)
    assert u.tolist() == [[uniform(int(key), b, i) for b in range(5, 9)] for i in numbers]


@pytest.mark.parametrize("kind", DEVICES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", SHAPES)
def test_labels(kind, dtype, shape):
    probs, _, _ = problem(*shape, dtype, power=3)
    key = make_key(1)
    drawn = engine.draws.draw_labels(Source(probs, None, key, 0), Replicates(2, 40))
    hashed = draws.row_keys(int(key), torch.arange(len(probs), device=kind))
    replicates = draws.replicate_keys(int(key), 2, 40, torch.device(kind))
    found = draws.labels(draws.thresholds(tensor(probs, kind)), hashed, replicates)
    assert np.array_equal(found.cpu().numpy().T, drawn)


@pytest.mark.parametrize("kind", DEVICES)
@pytest.mark.parametrize("shape", SHAPES)
def test_intervals_of_the_event(kind, shape):
    probs, event, _ = problem(*shape, power=3)
    wanted = engine.draws.event_cuts(probs, event).T
    found = draws.event_cuts(*(tensor(a, kind) for a in (probs, event)))
    assert np.array_equal(found.cpu().numpy(), wanted)


@pytest.mark.parametrize("kind", DEVICES)
@pytest.mark.parametrize("k", [1, 2, 3, 10, 15, 49, 1000])
def test_intervals(kind, k):
    edges = np.arange(k + 1) / k
    p = np.concatenate([edges, np.nextafter(edges, 0), np.nextafter(edges, 1).clip(0, 1)])
    for dtype in (np.float32, np.float64):
        column = p.astype(dtype)[:, None]
        wanted, _ = engine.grid.intervals(column, 0, engine.grid.edges(k))
        found = grid.intervals(tensor(column, kind), grid.edges(k, kind))
        assert np.array_equal(found[:, 0].cpu(), wanted)


@pytest.mark.parametrize("kind", DEVICES)
@pytest.mark.parametrize("m", [2, 9, 32, 33, 40, 41, 47, 1000])
def test_rows_are_added_up_in_the_order_of_the_check(kind, m):
    """A row is uneven to the host just where its sum is further from 1 than it may be."""
    probs = np.random.default_rng(m).random((400, m))
    probs /= probs.sum(axis=1, keepdims=True)
    off = (rows.row_sums(tensor(probs, kind)) - 1.0).abs().cpu().numpy()
    assert np.unique(off).size > 2
    for limit in np.unique(off):  # each sum in turn is the largest that passes
        assert engine.rows.check(probs, limit, 1.0).uneven == (off > limit).sum()
