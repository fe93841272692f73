"""Round trips: what is written holds what was read, byte for byte or value for value.

    python tests/loading/round_trips.py SEED COUNT [FIRST]

makes COUNT files of odd but right contents, lets a map change their probabilities as `apply` does,
and compares the output with what it must be: to the last byte for texts, which are put together
here, and by another library (pyarrow) for Parquet and Arrow. Every tenth trip is that of a map
through its file, every fiftieth one of a picture and of predictions as a file. Trip number i of a
seed is always the same.
"""

import csv
import gzip
import json
import os
import sys
import tempfile
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet

from calibrant import Predictions, load, reliability_diagram
from calibrant.loading.formats import Rewriting
from calibrant.loading.roles import Options
from calibrant.recalibration import IsotonicMap, LogLinearMap, TemperatureMap, load_map
from calibrant.recalibration.isotonic import Curve

WORDS = [
    *(
        "",
        "a",
        "first\rline",
        "ä – ±",
        "\u202eabc",
        "\x1b[2J",
        "0.5",
        "nan",
        "NA",
        "null",
        "-",
        "'",
    ),
    *(
        "x" * 300,
        "=1+1",
        "#",
        "\\",
        "\\n",
        "0",
        "1e400",
        " x ",
        "\x0b",
        "\x85",
        "\u2028",
        "None",
        "[1]",
    ),
]
QUOTED = ['"', "a,b", "a;b", "two\nlines", "a\r\nb", 'say "x"', "\r", "\n", "", "a\tb", '""', ","]
TEXTS = ("csv", "tsv", "txt", "csv.gz", "jsonl", "json", "json.gz")
FRAMES = ("parquet", "arrow", "feather")
CLASSES = ("cat", "dog", "ä b")


def pick(rng, choices):
    return choices[int(rng.integers(len(choices)))]


def probabilities(rng, n, m):
    """Return rows that sum to 1, some of them sure and some of them even."""
    probs = rng.dirichlet(np.full(m, pick(rng, [0.05, 1.0, 20.0])), n)
    probs[rng.random(n) < 0.1] = np.eye(m)[0]
    probs[rng.random(n) < 0.1] = 1 / m
    return probs


def some_map(rng, classes):
    m = len(classes)
    kind = rng.integers(3)
    if kind == 0:
        return TemperatureMap(classes, float(np.exp(rng.normal())))
    if kind == 1:
        weights = rng.normal(1, 0.5, m if rng.random() < 0.5 else (m, m))
        return LogLinearMap(classes, weights, rng.normal(0, 1, m), 10.0 ** -rng.integers(2, 30))
    curves = []
    for column in range(m):
        x = np.unique(rng.random(int(rng.integers(1, 6))))
        curves.append(Curve(column, x, np.sort(rng.random(x.size))))
    return IsotonicMap(classes, tuple(curves))


def delimited(rng, ending, n, names):
    """Return a text in parts: what stays, and holes for numbers, each by its row and column."""
    separator = {"tsv": "\t", "txt": pick(rng, " ,;")}.get(ending, pick(rng, ",;|\t"))
    end = pick(rng, ["\n", "\r\n"])
    order = [*names, *(f"note{k}" for k in range(int(rng.integers(0, 4))))]
    rng.shuffle(order)
    header = separator.join(name_cell(rng, name) for name in order)
    parts = [pick(rng, ["", "\ufeff", end]) + header + end]
    for i in range(n):
        for k, name in enumerate(order):
            before = separator if k else ""
            if name in names:
                quote = pick(rng, ["", "", '"'])
                parts += [before + quote, (i, names.index(name)), quote]
            else:
                parts.append(before + cell(rng, separator))
        parts.append(end)
    if rng.random() < 0.2:
        parts.pop()  # no end after the last line
    elif rng.random() < 0.2:
        parts.append(end * 3)
    return parts


def name_cell(rng, name):
    return f'"{name}"' if rng.random() < 0.3 or " " in name else name


def cell(rng, separator):
    """Return a cell as it may be written."""
    if rng.random() < 0.4:
        word = pick(rng, QUOTED + WORDS)
        return '"' + word.replace('"', '""') + '"'
    word = pick(rng, WORDS)
    if separator in word or word.endswith("\r"):
        return "a"
    return word * (1000 if rng.random() < 0.001 else 1)


def objects(rng, ending, n, names):
    """Return a JSON text of a list of objects, or of lines, in parts."""
    lines = ending == "jsonl"
    space = ["", " ", "\t"] if lines else ["", " ", "\n", "\r\n "]
    lists = len(names) > 1 and rng.random() < 0.3
    parts = [pick(rng, ["", "\ufeff"]) + ("" if lines else "[")]
    for i in range(n):
        members = [(json.dumps(name), (i, j)) for j, name in enumerate(names)]
        members = [('"probs"', (i, None))] if lists else members
        members += [(f'"note{k}"', other(rng)) for k in range(int(rng.integers(0, 4)))]
        members = [members[k] for k in rng.permutation(len(members))]
        parts.append(("\n" if lines else ",") * (i > 0) + pick(rng, space) + "{")
        for k, (key, value) in enumerate(members):
            parts += ["," * (k > 0), pick(rng, space), key, pick(rng, space), ":", pick(rng, space)]
            parts += [value, pick(rng, space)]
        parts.append("}")
    parts.append(("" if lines else "]") + pick(rng, ["", "\n"]))
    return parts


def other(rng):
    """Return the text of a value that nobody asks for."""
    return pick(
        rng,
        [
            *(
                "null",
                "true",
                "1.10",
                "0.1000000000000000055511",
                "1e2",
                '{"x" : [1,{}]}',
                "[]",
                '""',
            ),
            *(json.dumps(pick(rng, WORDS + QUOTED)), '"\\u00e4\\/"', "-0.0", "12345678901234567"),
        ],
    )


def filled(parts, numbers):
    """Return the text with numbers (n, k) in its holes; without a column, a row as a list."""
    texts = []
    for part in parts:
        if isinstance(part, str):
            texts.append(part)
        else:
            row, column = part
            values = numbers[row].tolist()
            texts.append(json.dumps(values if column is None else values[column]))
    return "".join(texts)


def text_trip(rng, folder, ending):
    """Change the probabilities of a text, and compare the bytes."""
    m = int(rng.integers(2, 4))
    classes = CLASSES[:m]
    probs = probabilities(rng, int(rng.integers(1, 12)), m)
    single = m == 2 and rng.random() < 0.3
    names = ["prob"] if single else [f"prob_{name}" for name in classes]
    parts = (objects if "json" in ending else delimited)(rng, ending, len(probs), names)
    fitted = some_map(rng, classes)
    path, output = folder / f"in.{ending}", folder / f"out.{ending}"
    save(path, filled(parts, probs[:, 1:] if single else probs))
    Rewriting(path, classes, Options()).write(output, fitted)
    checked = Predictions(probs[:, 1] if single else probs, [0] * len(probs)).probs
    expected = fitted(checked)
    meant = filled(parts, expected[:, 1:] if single else expected).encode()
    found = unpacked(output)
    return "" if found == meant else f"{ending}: {found[:200]!r} instead of {meant[:200]!r}"


def save(path, text):
    content = text.encode()
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)


def unpacked(path):
    content = path.read_bytes()
    return gzip.decompress(content) if path.suffix == ".gz" else content


def columns(rng, n):
    """Return columns of many types for a frame."""
    words = [pick(rng, WORDS + QUOTED) for _ in range(n)]
    days = [int(day) for day in rng.integers(0, 20_000, n)]
    return {
        "text": pl.Series([word if rng.random() < 0.8 else None for word in words]),
        "kind": pl.Series(words, dtype=pl.Categorical),
        "day": pl.Series(days, dtype=pl.Int32).cast(pl.Date),
        "when": pl.Series(days, dtype=pl.Int64).cast(pl.Datetime("us", "UTC")),
        "list": pl.Series([[1, None], [], None, [2]] * n, dtype=pl.List(pl.Int16))[:n],
        "deep": pl.Series([{"a": 1.5, "b": "x"}, {"a": None, "b": None}] * n)[:n],
        "bytes": pl.Series([word.encode() for word in words]),
        "small": pl.Series(rng.integers(-9, 9, n), dtype=pl.Int8),
        "true": pl.Series(rng.random(n) < 0.5),
        "float": pl.Series(np.where(rng.random(n) < 0.5, np.nan, 0.1), dtype=pl.Float32),
        "decimal": pl.Series(["1.10"] * n).str.to_decimal(scale=2),
    }


def frame_trip(rng, folder, ending):
    """Change the probabilities of a frame, and compare what another library reads."""
    m, n = int(rng.integers(2, 4)), int(rng.integers(1, 12))
    probs = probabilities(rng, n, m)
    some = {name: each for name, each in columns(rng, n).items() if rng.random() < 0.5}
    dtype = pick(rng, [pl.Float32, pl.Float64])
    names = [f"prob_{name}" for name in CLASSES[:m]]
    table = pl.DataFrame({**some, **{name: pl.Series(probs[:, j]) for j, name in enumerate(names)}})
    table = table.with_columns(pl.col(names).cast(dtype))
    if rng.random() < 0.3:
        table = table.select(*some, probs=pl.concat_list(names))
        names = ["probs"]
    path, output = folder / f"in.{ending}", folder / f"out.{ending}"
    write_frame(table, path)
    fitted = some_map(rng, CLASSES[:m])
    Rewriting(path, CLASSES[:m], Options()).write(output, fitted)
    before, after = read_arrow(path), read_arrow(output)
    if before.drop_columns(names).to_pylist() != after.drop_columns(names).to_pylist() and not same(
        before.drop_columns(names), after.drop_columns(names)
    ):
        return f"{ending}: other columns differ"
    given = Predictions(
        np.array(probs, np.float32 if dtype == pl.Float32 else float), [0] * n
    ).probs
    found = np.array(
        after.column("probs").to_pylist()
        if names == ["probs"]
        else [after.column(name).to_pylist() for name in names]
    )
    found = found if names == ["probs"] else found.T
    return "" if found.tobytes() == fitted(given).tobytes() else f"{ending}: other numbers"


def same(a, b):
    """Whether tables are equal where nan is equal to nan."""
    return a.schema.equals(b.schema) and pl.from_arrow(a).equals(pl.from_arrow(b))


def write_frame(table, path):
    if path.suffix == ".parquet":
        table.write_parquet(path)
    else:
        table.write_ipc(path)


def read_arrow(path):
    if path.suffix == ".parquet":
        return pa.parquet.read_table(path)
    return pa.ipc.open_file(path).read_all()


def map_trip(rng, folder):
    """Save a map and load it: the same fields, and the same bits."""
    m = int(rng.integers(2, 4))
    classes = tuple(f"{pick(rng, WORDS)}{j}" for j in range(m))
    fitted = some_map(rng, classes)
    if rng.random() < 0.3:
        fitted = fitted >> some_map(rng, classes)
    fitted.save(folder / "map.json")
    again = load_map(folder / "map.json")
    probs = probabilities(rng, 20, m)
    same_bits = again(probs).tobytes() == fitted(probs).tobytes()
    return "" if same_bits and again.to_dict() == fitted.to_dict() else f"map: {fitted.to_dict()}"


def picture_trip(rng, folder):
    """Write predictions, read them, and draw them: the numbers stay, and the drawing is XML."""
    names = tuple(f"{pick(rng, WORDS)}{j}".strip() for j in range(3))
    probs = probabilities(rng, 30, 3)
    labels = rng.integers(0, 3, 30)
    with (folder / "in.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["label", *(f"prob_{name}" for name in names)])
        for y, row in zip(labels, probs.tolist(), strict=True):
            writer.writerow([names[y], *row])
    data = load(folder / "in.csv", probs=[f"prob_{name}".strip() for name in names])
    if not np.allclose(data.probs, probs, rtol=0, atol=1e-12) or (data.labels != labels).any():
        return f"predictions of {names} are not read as they were"
    diagram = reliability_diagram(data, lens="class:0", n_resamples=19, rng=0)
    ET.parse(diagram.figure().save(folder / "out.svg"))
    return ""


def trip(rng, number, folder):
    """Make a trip; return what is wrong with what came out."""
    for file in folder.iterdir():
        file.unlink()
    if number % 50 == 7:
        found = picture_trip(rng, folder)
    elif number % 10 == 3:
        found = map_trip(rng, folder)
    else:
        ending = pick(rng, TEXTS + FRAMES)
        found = (frame_trip if ending in FRAMES else text_trip)(rng, folder, ending)
    strays = [file.name for file in folder.iterdir() if file.name.startswith(".")]
    return found or (f"leaves {strays}" if strays else "")


def main(seed, count, first=0):
    found = []
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as name:
        for i in range(first, first + count):
            print("trip", i, file=sys.stderr, flush=True)
            rng = np.random.default_rng([seed, i])
            try:
                wrong = trip(rng, i, Path(name))
            except Exception as error:
                wrong = f"raises {error!r}"[:400]
            if wrong:
                found.append(f"{i}: {wrong}")
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
