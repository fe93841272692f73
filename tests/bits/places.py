"""Where a setting is run, and what comes out of it: a digest of its numbers, or a refusal."""

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cached_property, partial
from hashlib import sha256
from importlib import import_module
from importlib.util import find_spec
from inspect import signature
from math import fsum, isfinite
from pathlib import Path
from textwrap import shorten
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

import calibrant as cal

from . import rows as given
from .choices import LENSES, RESAMPLERS, SEED, VERBS, make_statistic
from .settings import Setting, on_clusters

RESAMPLES = {"small": 19, "large": 19, "many bins": 999}
CLUSTERED = frozenset(on_clusters())

# Knobs that no public name reaches: (module, name, value), as they are or were called. What is not
# there is left alone; `missing_knobs` says so. Settings of many bins have their rows moved anyway.
MOVE_ALL = (
    ("calibrant.inference.moving", "PASSES", 0),
    ("calibrant.inference.replicates.ways", "LIMITS", lambda limits: limits._replace(passes=0)),
)
STAYS = ("calibrant.device", "KINDS")  # kinds of devices whose tensors stay there


Way = Callable[[Setting, Any], "Found"]


class Found(NamedTuple):
    """What a call gave: numbers in their order, or a refusal."""

    numbers: list[float]
    refusal: str = ""
    ordered: bool = True  # value and null; else numbers of a dictionary, whose order is no matter

    @property
    def text(self) -> str:
        """A digest and the first number, or the sum of all; a refusal with its type."""
        if self.refusal:
            return self.refusal
        if self.ordered:
            data, shown = np.array(self.numbers, np.float64).tobytes(), self.numbers[0]
        else:
            data = " ".join(sorted({number.hex() for number in self.numbers})).encode()
            shown = fsum(number for number in self.numbers if isfinite(number))
        return f"{sha256(data).hexdigest()[:16]} {shown!r}"


def attempt(work: Callable[..., Found], *arguments: Any) -> Found:
    """Return what was found; an exception is a result, too."""
    try:
        return work(*arguments)
    except Exception as error:
        return Found([], f"{type(error).__name__}: {shorten(str(error), 100, placeholder=' …')}")


def call(setting: Setting, data: Any) -> Found:
    """Do what a setting says with rows."""
    if setting.verb in VERBS:
        return Found(list(numbers_of(VERBS[setting.verb](data))), ordered=False)
    verb = {"test": cal.calibration_test, "estimate": cal.estimate}[setting.verb]
    found = verb(data, make_statistic(setting.statistic), **_options(setting))
    return _ordered(found)


def _options(setting: Setting) -> dict[str, Any]:
    return {
        "lens": LENSES[setting.lens](setting.outcomes),
        "resampler": RESAMPLERS[setting.resampler](),
        "n_resamples": RESAMPLES[setting.size],
        "rng": SEED,
    }


def _ordered(found: Any) -> Found:
    """Return value and replicates of a test or an estimate."""
    value, drawn = ("statistic", "null") if hasattr(found, "null") else ("value", "replicates")
    return Found([float(getattr(found, value)), *np.asarray(getattr(found, drawn)).tolist()])


def numbers_of(found: Any) -> Iterator[float]:
    """Yield all floats of a result, but not those of its settings; words may change."""
    if isinstance(found, float | np.floating):
        yield float(found)
    for part in _parts(found):
        yield from numbers_of(part)


def _parts(found: Any) -> list[Any]:
    """Return what a result is made of."""
    if isinstance(found, np.ndarray):
        return found.ravel().tolist()
    if isinstance(found, list | tuple):
        return list(found)
    if isinstance(found, dict):
        return [value for name, value in found.items() if name != "settings"]
    return [found.to_dict(), *_nulls(found)] if hasattr(found, "to_dict") else []


def _nulls(found: Any) -> list[Any]:
    """Return null distributions beside those that `to_dict` sums up."""
    rows = [getattr(row, "null", None) for row in getattr(found, "rows", ())]
    return [*rows, getattr(found, "null", None), getattr(found, "largest", None)]


class Places:
    """The places of this machine; files are written once for all settings of the same rows."""

    def __init__(self, only: str = "", clusters: Mapping[str, Any] = MappingProxyType({})) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="bits-"))
        self.executor = ThreadPoolExecutor(2)
        self.clusters = clusters  # name → what `scan` takes: a client of Dask, a session of Spark
        self.only = only

    def close(self) -> None:
        """Remove the files."""
        self.executor.shutdown()
        shutil.rmtree(self.folder)

    def run(self, setting: Setting) -> dict[str, Found]:
        """Return what the setting gives in each place."""
        rows = given.rows_of(*setting[4:])
        ways = {name: way for name, way in self._ways(setting) if self.only in name}
        return {name: attempt(way, setting, rows) for name, way in ways.items()}

    def _ways(self, setting: Setting) -> Iterator[tuple[str, Way]]:
        yield "memory", lambda setting, rows: call(setting, given.predictions(rows))
        if setting.size != "small":
            yield "memory, two threads", _two_threads
        if setting.clusters == "no clusters":
            yield from self._scans(setting)
        if setting.clusters == "no clusters" and setting.size != "large":
            for kind in self.devices:
                yield f"tensors, {kind}", partial(_on_device, kind=kind)
        if setting.verb == "test" and setting.size == "small":
            yield "tally, portions", partial(_tallied, merged=False)
            yield "tally, merged", partial(_tallied, merged=True)

    def _scans(self, setting: Setting) -> Iterator[tuple[str, Way]]:
        yield "scan, parts", partial(self._scanned, cut="parts")
        if setting.size != "large":
            yield "scan, whole", partial(self._scanned, cut="whole")
            yield "scan, shuffled", partial(self._scanned, cut="shuffled")
            yield "scan, executor", partial(self._scanned, engine=self.executor)
            yield "scan, moved", self._moved
        for name, engine in self.clusters.items() if setting in CLUSTERED else ():
            yield f"scan, {name}", partial(self._scanned, engine=engine)

    def _scanned(
        self, setting: Setting, rows: Any, cut: str = "parts", engine: Any = None
    ) -> Found:
        options = {} if engine is None else {_engine_name(): engine}
        return call(setting, self.scan(setting, rows, cut, **options))

    @cached_property
    def devices(self) -> list[str]:
        """Devices of torch: the CPU, and a GPU if there is one."""
        if find_spec("torch") is None:
            return []
        import torch

        return ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]

    def scan(self, setting: Setting, rows: Any, cut: str, **options: Any) -> Any:
        """Look at the rows in files."""
        folder = self.folder_of(setting, cut)
        if not folder.exists():
            given.write(folder, rows, cut)
        row = "row" if cut == "shuffled" else None
        return cal.scan(folder, row=row, **options)

    def folder_of(self, setting: Setting, cut: str) -> Path:
        """Return where the rows of a setting are written."""
        return self.folder / cut / "-".join(map(str, setting[4:])).replace(" ", "_")

    def _moved(self, setting: Setting, rows: Any) -> Found:
        with moving():
            return call(setting, self.scan(setting, rows, "parts"))


def _engine_name() -> str:
    """Return what `scan` calls the one who reads."""
    known = signature(cal.scan).parameters
    return next(name for name in ("engine", "workers", "on") if name in known)


def _two_threads(setting: Setting, rows: Any) -> Found:
    before = os.environ.get("CALIBRANT_THREADS")
    os.environ["CALIBRANT_THREADS"] = "2"
    try:
        return call(setting, given.predictions(rows))
    finally:
        del os.environ["CALIBRANT_THREADS"]
        if before is not None:
            os.environ["CALIBRANT_THREADS"] = before


@contextmanager
def moving() -> Iterator[None]:
    """Have the rows of any two bins moved, where there is a knob for it."""
    with _patched(*MOVE_ALL):
        yield


@contextmanager
def _patched(*knobs: tuple[str, str, Any]) -> Iterator[None]:
    """Turn the knobs that are there for a while."""
    found = [(_home(home, name), name, value) for home, name, value in knobs]
    before = [(home, name, getattr(home, name)) for home, name, _ in found if home is not None]
    for home, name, value in found:
        if home is not None:
            setattr(home, name, value(getattr(home, name)) if callable(value) else value)
    try:
        yield
    finally:
        for home, name, value in before:
            setattr(home, name, value(getattr(home, name)) if callable(value) else value)


def _home(home: str, name: str) -> Any:
    """Return a module if it has this name."""
    try:
        module = import_module(home)
    except ImportError:
        return None
    return module if hasattr(module, name) else None


def missing_knobs() -> list[str]:
    """Return what is no longer there: places then do what they do by themselves."""
    missing = [] if any(_home(home, name) for home, name, _ in MOVE_ALL) else ["rows are moved"]
    return missing if _home(*STAYS) else [*missing, "tensors of the CPU stay there"]


def _on_device(setting: Setting, rows: Any, kind: str) -> Found:
    """Let tensors of this kind stay where they are: by default those of the CPU do not."""
    with _patched((*STAYS, (kind,))):
        return call(setting, given.tensors(rows, kind))


def _tallied(setting: Setting, rows: Any, *, merged: bool) -> Found:
    """Add rows up in three batches, in their order; or merge tallies of numbered rows."""

    def tally() -> Any:
        return cal.Tally(make_statistic(setting.statistic), **_options(setting))

    parts = np.array_split(np.arange(len(rows.labels)), [50, 51])
    whole = tally()
    for part in reversed(parts) if merged else parts:
        arrays = [None if array is None else array[part] for array in rows]
        data = given.predictions(given.Rows(*arrays))
        one = tally() if merged else whole
        one.update(data, None, rows=part if merged else None)
        if merged:
            whole.merge(one)
    return _ordered(whole.result())
