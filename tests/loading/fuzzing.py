"""Mutated files: each is loaded as the numbers that another parser finds in it, or refused.

    python tests/loading/fuzzing.py SEED COUNT [FIRST]

tries COUNT mutants of each kind of file. File number i of a seed is always the same, so that
SEED 1 i gives it again. What ends the process (an abort, ten seconds for one file) is found by
whoever started it: the number of the file that is being loaded stands in the progress file. Memory
that loading takes must stay below four times what the file unpacks to, and 500 MB.
"""

import csv
import gzip
import io
import json
import os
import re
import signal
import struct
import sys
import tempfile
import zlib
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow.ipc
import pyarrow.parquet
from memory import Peak

from calibrant import load

N = 40
RNG = np.random.default_rng(0)
P = RNG.random(N).round(6)
NOTES = [f'a "note", {k}' if k % 3 else None for k in range(N)]
FRAME = pl.DataFrame(
    {
        "label": [("cat", "dog")[y] for y in RNG.integers(0, 2, N)],
        "prob_cat": P,
        "prob_dog": (1 - P).round(6),
        "note": NOTES,
        "weight": RNG.random(N).round(3) + 0.5,
    }
)
LISTS = pl.DataFrame({"y": RNG.integers(0, 2, N), "probs": np.stack([P, 1 - P], 1).tolist()})
OLD = pl.CompatLevel.oldest()


def written(method, frame=FRAME, **options):
    file = io.BytesIO()
    getattr(frame, method)(file, **options)
    return file.getvalue()


def arrow_parquet(frame=FRAME, **options):
    file = io.BytesIO()
    pyarrow.parquet.write_table(frame.to_arrow(), file, **options)
    return file.getvalue()


def arrays(save, **more):
    file = io.BytesIO()
    probs = FRAME.select("prob_cat", "prob_dog").to_numpy()
    save(file, probs=probs, labels=[0, 1] * (N // 2), **more)
    return file.getvalue()


VALID = {
    "csv": [FRAME.write_csv().encode(), FRAME.write_csv(separator=";").encode()],
    "txt": [FRAME.drop("note").write_csv(separator=" ").encode()],
    "csv.gz": [gzip.compress(FRAME.write_csv().encode(), mtime=0)],
    "jsonl": [FRAME.write_ndjson().encode(), LISTS.write_ndjson().encode()],
    "json": [
        json.dumps(FRAME.to_dicts()).encode(),
        json.dumps(LISTS.to_dict(as_series=False)).encode(),
    ],
    "npz": [arrays(np.savez), arrays(np.savez_compressed, classes=["cat", "dog"], weights=P)],
    "parquet": [
        written("write_parquet"),
        written("write_parquet", compression="uncompressed", row_group_size=10),
        written("write_parquet", LISTS, compression="lz4"),
        arrow_parquet(compression="snappy"),
        arrow_parquet(LISTS, compression="none", use_dictionary=False),
        arrow_parquet(data_page_version="2.0", compression="zstd"),
    ],
    "arrow": [
        written("write_ipc"),
        written("write_ipc", compression="zstd"),
        written("write_ipc", LISTS, compression="lz4"),
        written("write_ipc", FRAME.cast({"label": pl.Categorical}), compat_level=OLD),
        written("write_ipc_stream", compression="zstd"),
        written("write_ipc_stream", LISTS),
    ],
}  # fmt: skip
WORDS = [
    *(b'"', b'""', b",", b"\n", b"\r", b"\r\n", b"\0", b"\xff", b"\xef\xbb\xbf", b" ", b"\t", b";"),
    *(b"nan", b"1e400", b"-0", b"1_0", b"0x1", b"1e-400", b"\xd9\xa1", b"5e-1", b"+.5", b"1" * 400),
    *(b"label", b"prob_cat", b"weight", b"model", b"{", b"}", b"[", b"]", b":", b"null", b"true"),
    *(b'"prob_cat":', b'"prob_cat":0.5,', b"\\", b"\\u0031", b"cat", b"x" * 3000, b"=", b"'"),
]
SIZES = [2**61, 2**40, 2**33, 2**31 - 1, 2**30, -1, 0, 2**63 - 1]
MIB = 1 << 20
VARINTS = [b"\xff" * 4 + b"\x0f", b"\xfe" + b"\xff" * 7 + b"\x3f", b"\x80" * 4 + b"\x08", b"\x01"]


def mutant(rng, kind):
    """Return a valid file with one to three faults."""
    options = VALID[kind]
    content = bytearray(options[rng.integers(len(options))])
    packed = kind == "csv.gz" and rng.random() < 0.7
    if packed:
        content = bytearray(gzip.decompress(content))
    text = packed or kind in ("csv", "txt", "json", "jsonl")
    first = 0 if text else int(rng.choice([4, max(4, len(content) - 900)]))
    length = len(content)
    for _ in range(rng.integers(1, 4)):
        at = int(rng.integers(first, max(first + 1, len(content) - 4)))
        change(rng, content, at, text)
    if packed and rng.random() < 0.01:  # a few KB that become up to 40 MB
        at = int(rng.integers(len(content) + 1))
        content[at:at] = content[at : at + 40] * int(rng.integers(1, 1_000_000))
    if kind == "parquet" and rng.random() < 0.7:  # the footer stays where it says
        footer = int.from_bytes(content[-8:-4], "little") + len(content) - length
        content[-8:-4] = (footer & 0xFFFFFFFF).to_bytes(4, "little")
    return gzip.compress(content, mtime=0) if packed else bytes(content)


def change(rng, content, at, text):
    """Make one fault at a place."""
    some = int(rng.integers(1, 30))
    other = int(rng.integers(0, len(content))) if content else 0
    choice = int(rng.integers(8))
    if choice == 0:
        content[at : at + 1] = bytes([rng.integers(256)])
    elif choice == 1:
        del content[at : at + some]
    elif choice == 2:
        content[at:at] = content[other : other + some]
    elif choice == 3:
        del content[max(at, 8) :]
    elif choice == 4:
        content[at : at + int(rng.integers(3))] = WORDS[rng.integers(len(WORDS))]
    elif text:
        lines = content.split(b"\n")
        lines[rng.integers(len(lines))] = lines[rng.integers(len(lines))]
        content[:] = b"\n".join(lines)
    elif choice == 5:
        content[at : at + 8] = struct.pack("<q", SIZES[rng.integers(len(SIZES))])
    else:
        content[at : at + 1] = VARINTS[rng.integers(len(VARINTS))]


def parsed(path, content, kind):
    """Return the columns of a file as another parser finds them."""
    if kind == "csv.gz":
        content, kind = gzip.decompress(content), "csv"
    if kind in ("csv", "txt"):
        return table_of_cells(content.decode("utf-8-sig"))
    if kind in ("json", "jsonl"):
        return table_of_objects(content.decode("utf-8-sig"), kind)
    if kind == "npz":
        found = np.load(io.BytesIO(content), allow_pickle=False)
        return {name: found[name].tolist() for name in found.files}
    if kind == "parquet":
        table = pyarrow.parquet.read_table(path)
    elif content.startswith(b"ARROW1"):
        table = pyarrow.ipc.open_file(path).read_all()
    else:
        table = pyarrow.ipc.open_stream(path).read_all()
    table.validate(full=True)  # or else it may end the process
    return {name: table.column(name).to_pylist() for name in table.column_names}


def table_of_cells(text):
    text = re.sub(r"\r(?!\n)", "\v", text)  # lines end with \n or \r\n; \r alone is a space
    lines = text.split("\n")
    line = next(line for line in lines if line.strip())
    separator = next((s for s in ",;\t| " if s in line), ",")
    try:
        rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True))
    except csv.Error:  # a quote where none may be: then every line is a row
        rows = [next(csv.reader([line], delimiter=separator)) for line in lines if line]
    header, *rows = [row for row in rows if any(cell.strip() for cell in row)]
    columns = {}
    for j, name in enumerate(header):
        columns[name.strip()] = [row[j].strip() if j < len(row) else "" for row in rows]
    return columns


def table_of_objects(text, kind):
    def once(pairs):
        assert len(dict(pairs)) == len(pairs), "a key is there twice"
        return dict(pairs)

    def parse(part):
        return json.loads(part, object_pairs_hook=once)

    try:
        found = parse(text) if kind == "json" else None
    except json.JSONDecodeError:
        found = None
    if isinstance(found, dict):
        return {key.strip(): values for key, values in found.items()}
    rows = found or [parse(line) for line in text.split("\n") if line.strip()]
    return {key.strip(): [row.get(key) for row in rows] for key in rows[0]}


def disagreement(data, columns):
    """Say how predictions differ from what another parser found."""
    probs = [columns[name] for name in data.reading.probs]
    matrix = np.array(probs[0] if data.reading.lists else list(zip(*probs, strict=True)), float)
    if matrix.shape[1] == 1:
        matrix = np.hstack([1 - matrix, matrix])
    if matrix.shape != data.probs.shape:
        return f"shape {data.probs.shape} instead of {matrix.shape}"
    matrix /= matrix.sum(axis=1, keepdims=True)
    if not np.allclose(data.probs, matrix, rtol=0, atol=1e-12):
        return "other probabilities"
    labels = [str(label).strip() for label in columns[data.reading.label]]
    found = [data.classes[y] for y in data.labels]
    wrong = [(a, b) for a, b in zip(labels, found, strict=True) if a != b and a in data.classes]
    return f"other labels {wrong[:3]}" if wrong else ""


def unpacked(content, kind):
    """Return the bytes of a file when it is unpacked, as far as it can be."""
    try:
        return len(gzip.decompress(content)) if kind == "csv.gz" else len(content)
    except (OSError, EOFError, zlib.error):
        return len(content)


def loaded(path):
    """Load a file; return the data, or what is wrong with how it is refused."""
    signal.setitimer(signal.ITIMER_PROF, 10)  # of work; others may be at work on this machine
    signal.alarm(60)
    try:
        return load(path)
    except (ValueError, TypeError) as error:
        said = str(error)
        good = said.startswith(f"{path}: ") and "\n" not in said and len(said) < 900
        return "" if good and type(error) in (ValueError, TypeError) else f"says {said[:300]!r}"
    except BaseException as error:
        return f"raises {error!r}"[:300]
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.alarm(0)


def verdict(path, content, kind):
    """Load a file; return what is wrong with what became of it, if anything is."""
    path.write_bytes(content)
    peak = Peak()
    data = loaded(path)
    grown = peak.grown()
    if grown > 4 * unpacked(content, kind) + 500 * MIB:
        return f"takes {grown // MIB} MB"
    if isinstance(data, str):
        return data
    try:
        columns = parsed(path, content, kind)
    except AssertionError as error:
        return str(error)
    except Exception:
        return ""  # the other parser is stricter, or weaker
    try:
        return disagreement(data, columns)
    except (ValueError, KeyError, TypeError) as error:
        return f"cannot be compared: {error!r}"


def main(seed, count, first=0):
    found = []
    in_memory = "/dev/shm" if os.path.isdir("/dev/shm") else None
    with tempfile.TemporaryDirectory(dir=in_memory) as folder:
        for i in range(first, first + count):
            for number, kind in enumerate(VALID):
                rng = np.random.default_rng([seed, number, i])
                print(kind, i, file=sys.stderr, flush=True)
                wrong = verdict(Path(folder) / f"x.{kind}", mutant(rng, kind), kind)
                if wrong:
                    found.append(f"{kind} {i}: {wrong}")
    json.dump(found, sys.stdout)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
