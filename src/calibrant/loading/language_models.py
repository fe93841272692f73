"""Logs of evaluations of language models, as they are: lm-evaluation-harness, inspect_ai, HELM.

Log-likelihoods of choices become probabilities, with the place of the right choice as label; where
a question has fewer choices than others, those that it lacks have probability 0. Where there is a
confidence and whether the answer was right, these are the columns.
"""

import json
import re
import struct
import zipfile
from collections.abc import Mapping, Sequence
from math import exp, inf
from pathlib import Path
from string import ascii_uppercase
from typing import Any

import numpy as np
import polars as pl

from calibrant.checks.arrays import softmax
from calibrant.checks.doors import needs
from calibrant.checks.parameters import brief, listed
from calibrant.loading.columnar import Columnar
from calibrant.loading.columns import Rewritable
from calibrant.loading.json_files import json_lines
from calibrant.loading.json_tables import json_file
from calibrant.loading.plain_files import first_bytes, opened_text

HARNESS = {"doc_id", "resps", "filtered_resps", "target"}  # keys of a sample
HEAD = 1 << 16  # bytes that tell a log from other JSON
DATED = re.compile(r"samples_(?P<task>.+)_\d{4}-\d\d-\d\dT[\d.-]+")
HELM = "per_instance_stats.json"
SAID = "max_prob", "exact_match"  # what HELM calls a confidence, and whether it was right
SPEC = re.compile(r'"eval"\s*:\s*(?=\{)')
ZSTD = 93  # how entries of a ZIP archive may be compressed
RIGHT = {"C": 1, "I": 0, "N": 0, "1": 1, "0": 0, "1.0": 1, "0.0": 0, "True": 1, "False": 0}


def open_lines(path: Path) -> Rewritable:
    """Open JSON lines: samples of lm-evaluation-harness, or a table."""
    with opened_text(path) as file:
        first = file.readline()
    return _harness(path) if all(f'"{key}"' in first for key in HARNESS) else json_lines(path)


def open_json(path: Path) -> Rewritable:
    """Open a JSON file: a log of inspect_ai, statistics of HELM, or a table."""
    head = first_bytes(path, HEAD)
    if _is_log(head):
        return _inspected(json.loads(path.read_bytes()).get("samples") or [])
    if head.lstrip()[:1] == b"[" and b'"instance_id"' in head and b'"stats"' in head:
        return _helm(json.loads(path.read_bytes()))
    return json_file(path)


def open_log(path: Path) -> Rewritable:
    """Open a log of inspect_ai, a ZIP archive of samples."""
    with zipfile.ZipFile(path) as archive:
        entries = sorted(one for one in archive.namelist() if one.startswith("samples/"))
        return _inspected([json.loads(_entry(archive, one)) for one in entries])


def title(path: Path) -> str | None:
    """Return "model: task" of a log, or what of it is known; None of other files."""
    named = _title_of_path(path)
    if named is not None:
        return named
    try:
        head = _head(path)
        start = SPEC.search(head)
        spec = json.JSONDecoder().raw_decode(head, start.end())[0] if start else {}
    except (OSError, KeyError, ValueError, zipfile.BadZipFile, ImportError):
        return None  # whoever reads it says what is wrong
    return ": ".join(str(spec[key]) for key in ("model", "task") if spec.get(key)) or None


def _title_of_path(path: Path) -> str | None:
    """Return what the path of a log says: lm-evaluation-harness and HELM name their runs there."""
    found = DATED.fullmatch(path.stem)
    if found is not None:
        model = path.parent.name.replace("__", "/")
        return f"{model}: {found['task']}" if model else found["task"]
    return path.parent.name if path.name == HELM and "=" in path.parent.name else None


def _head(path: Path) -> str:
    """Return what says which evaluation a log of inspect_ai is of; nothing of other files."""
    if path.suffix.lower() == ".eval":
        with zipfile.ZipFile(path) as archive:
            return _entry(archive, "_journal/start.json").decode()
    head = first_bytes(path, HEAD) if path.suffix.lower() == ".json" else b""
    return path.read_text("utf-8") if _is_log(head) else ""


def _is_log(head: bytes) -> bool:
    return head.lstrip()[:1] == b"{" and b'"eval"' in head and b'"status"' in head


def _entry(archive: zipfile.ZipFile, entry: str) -> bytes:
    """Return an entry of an archive, also one that is compressed with zstd."""
    info = archive.getinfo(entry)
    if info.compress_type != ZSTD:
        return archive.read(entry)
    needs("reading this log", "zstandard", extra="files")
    import zstandard  # noqa: PLC0415 (an extra)

    file: Any = archive.fp
    file.seek(info.header_offset)
    lengths = struct.unpack("<26x2H", file.read(30))
    file.seek(sum(lengths), 1)
    packed = file.read(info.compress_size)
    found: bytes = zstandard.ZstdDecompressor().decompress(packed, info.file_size)
    return found


def _harness(path: Path) -> Columnar:
    """Open samples of lm-evaluation-harness."""
    with opened_text(path) as file:
        samples = [json.loads(line) for line in file if line.strip()]
    rows = [_scored(row, sample) for row, sample in enumerate(samples)]
    return _choices(rows, [sample["doc_id"] for sample in samples])


def _scored(row: int, sample: Mapping[str, Any]) -> tuple[Sequence[float], int]:
    """Return the probabilities of the choices of a question, and the place of the right one."""
    answers = [_likelihood(answer) for answer in sample["filtered_resps"]]
    if "acc_mutual_info" in sample:  # then all choices follow once more, without the question
        answers = answers[: len(answers) // 2]
    if len(answers) < 2 or None in answers or set(answers) == {-inf}:
        raise ValueError(
            "samples must have log-likelihoods of at least two choices; row"
            f" {row} has {brief(sample['filtered_resps'])}. Of answers that were generated, write"
            " how sure the model was: columns 'confidence' and 'correct'."
        )
    logs = np.array(answers, float)
    right = _places(sample, logs)
    if len(right) != 1:
        raise ValueError(
            f"'target' must be the right choice, one of {logs.size}; row {row} has"
            f" {brief(sample['target'])}, where 'acc' is {sample.get('acc')}."
        )
    return softmax(logs[None])[0].tolist(), right[0]


def _likelihood(answer: Any) -> float | None:
    """Return the log-likelihood of a choice, which is written as [number, whether greedy]."""
    try:
        found = float(answer[0]) if isinstance(answer, list) and len(answer) == 2 else inf
    except (TypeError, ValueError):
        return None
    return found if found < inf else None  # no number is


def _places(sample: Mapping[str, Any], logs: Any) -> Sequence[int]:
    """Return where the right choice may be: at a place, or where its text is.

    A text may follow several contexts. What the accuracy denies is left out, so that it tells which
    of two was right.
    """
    target = str(sample["target"]).strip()
    texts = map(str, range(logs.size)) if target.isdecimal() else _texts(sample)[: logs.size]
    places = [place for place, one in enumerate(texts) if one == target]
    return [place for place in places if not _contradicted(sample, logs, place)]


def _contradicted(sample: Mapping[str, Any], logs: Any, right: int) -> bool:
    """Whether the accuracy of a question says otherwise, and no two choices are equally likely."""
    best = np.flatnonzero(logs == logs.max())
    return "acc" in sample and best.size == 1 and (best[0] == right) != sample["acc"]


def _texts(sample: Mapping[str, Any]) -> list[str]:
    """Return the texts whose likelihood was asked for; older versions write pairs."""
    asked = sample.get("arguments") or ()
    pairs = asked.values() if isinstance(asked, dict) else asked
    return [str(one["arg_1"] if isinstance(one, dict) else one[1]).strip() for one in pairs]


def _choices(rows: Sequence[tuple[Sequence[float], int]], ids: Sequence[Any]) -> Columnar:
    """Return columns of probabilities, as many as the most choices, and of the right ones."""
    most = max((len(probs) for probs, _ in rows), default=0)
    probs = [[*probs, *([0.0] * (most - len(probs)))] for probs, _ in rows]
    columns = {"target": [right for _, right in rows], "probs": probs, "id": list(map(str, ids))}
    return Columnar.of(pl.DataFrame(columns).lazy())


def _confidences(found: Sequence[tuple[Any, int | None]], ids: Sequence[Any]) -> Columnar:
    """Return columns of confidences, texts where some are, and of whether answers were right."""
    values = [value for value, _ in found]
    if any(isinstance(value, str) for value in values):
        values = [None if value is None else str(value) for value in values]
    columns = {"confidence": values, "correct": [right for _, right in found]}
    return Columnar.of(pl.DataFrame(columns | {"id": list(map(str, ids))}, strict=False).lazy())


def _inspected(samples: Sequence[Mapping[str, Any]]) -> Columnar:
    """Open samples of inspect_ai."""
    if not samples:
        raise ValueError("the log must have samples; found none. Was the evaluation cut short?")
    ids = [sample["id"] for sample in samples]  # of several epochs, each is there more than once
    chosen = list(filter(None, map(_letters, samples)))
    if len(chosen) == len(samples):
        return _choices(chosen, ids)
    answers = [(_confidence(sample), _right(row, sample)) for row, sample in enumerate(samples)]
    if {confidence for confidence, _ in answers} == {None}:
        raise ValueError(
            "the log must say how sure the model was; nothing does. Ask for log-probabilities of"
            " the choices, or write a confidence for each answer: columns 'confidence' and"
            " 'correct'."
        )
    return _confidences(answers, ids)


def _score(sample: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the first score of a sample."""
    found: Mapping[str, Any] = next(iter((sample.get("scores") or {}).values()), {})
    return found


def _right(row: int, sample: Mapping[str, Any]) -> int | None:
    """Return whether an answer was right; None where the evaluation failed before it was scored."""
    value = _score(sample).get("value")
    if value is None:
        return None
    if str(value) not in RIGHT:
        raise ValueError(
            f"scores must say whether an answer is right, C or I, 1 or 0; row {row} has"
            f" {brief(value)}."
        )
    return RIGHT[str(value)]


def _confidence(sample: Mapping[str, Any]) -> Any:
    """Return the confidence that a scorer or a task noted, if any did."""
    noted = ((place.get("metadata") or {}).get("confidence") for place in (_score(sample), sample))
    return next((value for value in noted if value is not None), None)


def _letters(sample: Mapping[str, Any]) -> tuple[list[float], int] | None:
    """Return probabilities of the choices from those of the letter that was answered."""
    letters = ascii_uppercase[: len(sample.get("choices") or ())]
    tokens = _alternatives(sample, [*letters])
    if not tokens or sample.get("target") not in [*letters]:
        return None
    mass = [(one["token"].strip(), exp(one["logprob"])) for one in tokens]
    found = np.array([sum(p for token, p in mass if token == letter) for letter in letters])
    return (found / found.sum()).tolist(), letters.index(sample["target"])


def _alternatives(sample: Mapping[str, Any], letters: Sequence[str]) -> Sequence[Mapping[str, Any]]:
    """Return the tokens that might have stood where the last letter does, if they were logged."""
    answers = [one for one in _tokens(sample) if one["token"].strip() in letters]
    tops = (answers[-1].get("top_logprobs") or ()) if answers else ()
    return [one for one in tops if one["token"].strip() in letters]


def _tokens(sample: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """Return the tokens of the answer, with their log-probabilities if there are any."""
    said = (sample.get("output") or {}).get("choices") or [{}]
    tokens: Sequence[Any] = (said[0].get("logprobs") or {}).get("content") or ()
    return tokens


def _helm(instances: Sequence[Mapping[str, Any]]) -> Columnar:
    """Open statistics of the instances of a run of HELM, without perturbed ones.

    Every metric of the run writes entries of its own; only that of a confidence is read.
    """
    plain = [one for one in instances if not one.get("perturbation")]
    kept = [one for one in plain if _means(one).keys() & set(SAID)] or plain
    answers = [_statistics(row, _means(one)) for row, one in enumerate(kept)]
    _refuse_certainty(answers)
    return _confidences(answers, [one["instance_id"] for one in kept])


def _means(instance: Mapping[str, Any]) -> dict[str, Any]:
    """Return the statistics of an instance by their names."""
    return {one["name"]["name"]: one.get("mean") for one in instance["stats"]}


def _refuse_certainty(answers: Sequence[tuple[float, int | None]]) -> None:
    """Refuse a run of HELM that has no log-probabilities."""
    if {sure for sure, _ in answers} == {1}:
        raise ValueError(
            f"'max_prob' must say how sure the model was; all {len(answers)} are 1, as HELM writes"
            " where it has no log-probabilities. Let it score each choice:"
            " method=multiple_choice_separate_original."
        )


def _statistics(row: int, found: Mapping[str, Any]) -> tuple[float, int | None]:
    """Return how sure a model was of an instance, and whether it was right; None for a tie."""
    sure, right = map(found.get, SAID)
    if sure is None or right is None:
        raise ValueError(
            f"instances must have 'max_prob' and 'exact_match'; row {row} has {listed(found)}."
        )
    return sure, int(right) if right in (0, 1) else None
