"""Results have the bits that were recorded: a sample of settings, or in `make test-all` all."""

import os
import warnings
from contextlib import ExitStack
from math import isclose, isnan

import pytest

from .passes import passes
from .places import Places
from .record import SECTIONS, load, made_with, result
from .settings import Setting, settings

RECORDED = load()
ALL = settings()
FULL = os.environ.get("TESTS") == "all"
EVERY = {"small": 16, "large": 18, "many bins": 12}
SAME_MACHINE = made_with() == RECORDED["made with"]
CLOSE = 1e-9  # elsewhere: logarithms and products of matrices may be rounded in another way


def sample() -> list[Setting]:
    """Return every so many settings of a size."""
    if FULL:
        return ALL
    return [
        one for size, every in EVERY.items() for one in [s for s in ALL if s.size == size][::every]
    ]


@pytest.fixture(scope="module")
def places():
    with ExitStack() as open_:
        clusters = {}
        if FULL:
            from tests.workers.clusters import dask_client, spark_session

            clusters["dask"] = open_.enter_context(dask_client())
            clusters["spark"] = open_.enter_context(spark_session())
        found = Places(clusters=clusters)
        yield found
        found.close()


def refused(text: str) -> bool:
    return ":" in text


def agree(before: str, after: str) -> bool:
    """Whether results are the same: refusals of one type, or the same bits."""
    if SAME_MACHINE or refused(before) or refused(after) or result(before) == result(after):
        return result(before) == result(after)
    a, b = (float(text.split(" ")[1]) for text in (before, after))
    return isclose(a, b, rel_tol=CLOSE) or (isnan(a) and isnan(b))


@pytest.mark.parametrize("setting", sample(), ids=lambda one: one.name)
def test_same_bits(setting, places):
    recorded = RECORDED[setting.section][setting.name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = {place: one.text for place, one in places.run(setting).items()}
    differ = {
        place: (recorded[place], text)
        for place, text in found.items()
        if not agree(recorded.get(place, recorded["memory"]), text)
    }
    assert not differ


def test_all_settings_are_recorded():
    recorded = {name for section in SECTIONS for name in RECORDED[section]}
    assert {one.name for one in ALL} == recorded


def says_less(name: str) -> bool:
    """Whether less is said of scanned rows: only statistics on bins are tested, without sizes."""
    return name.startswith(("evaluate", "slices")) or "| omnibus |" in name


def test_places_agree():
    """Wherever rows are, bits are those of memory.

    Of many outcomes those of a Tally are not: there, norms depend on the order of the rows.
    """
    found = {
        name: {
            result(text)
            for place, text in places.items()
            if not refused(text) and (section == "few outcomes" or "tally" not in place)
        }
        for section in SECTIONS
        for name, places in RECORDED[section].items()
        if not says_less(name)
    }
    assert [name for name, results in found.items() if len(results) > 1] == []


def test_scans_are_read_no_more_often_than_before():
    recorded = RECORDED["passes"]
    assert {name: n for name, n in passes().items() if n > recorded[name]} == {}
