"""Files that once ended in a traceback, an abort, a wrong number or a long wait."""

import gzip
import io
import json
import struct
import subprocess
import sys
import time
import tokenize
import zipfile

import fuzzing
import numpy as np
import polars as pl
import pyarrow.parquet
import pytest

from calibrant import Predictions, load
from calibrant.loading.plain_files import one_sentence
from calibrant.loading.roles import present
from calibrant.loading.stated_sizes import ParquetSizes, check_arrow

CSV = "label,prob_a,prob_b\na,0.75,0.25\nb,0.25,0.75\n"
LINE = '{"label":"a","prob_a":0.75,"prob_b":0.25}\n'


def replaced(content, old, new):
    assert old in content
    return content.replace(old, new, 1)


def parquet(old, new):
    """A Parquet file in whose footer some bytes are others."""
    content = fuzzing.written("write_parquet", compression="uncompressed", statistics=False)
    footer = int.from_bytes(content[-8:-4], "little")
    start = len(content) - 8 - footer
    footer = replaced(content[start:-8], old, new)
    return content[:start] + footer + len(footer).to_bytes(4, "little") + b"PAR1"


PLAIN = fuzzing.written("write_parquet", compression="uncompressed", statistics=False)
ZSTD = fuzzing.written("write_ipc", compression="zstd")
STREAM = fuzzing.written("write_ipc_stream", compression="zstd")
SIZE = struct.pack("<q", 8 * fuzzing.N)  # of a column of floats, before compression
ENDED = {  # 0x50 is the number of rows, 40, twice as large so that a negative one would be odd
    "rows.parquet": parquet(b"\x16\x50", b"\x16\xa0\x80\x80\x80\x80\x40"),
    "page.parquet": replaced(PLAIN, b"\x2c\x15\x50", b"\x2c\x15\x4f"),
    "buffer.arrow": replaced(ZSTD, SIZE, struct.pack("<q", 2**61)),
    "below.arrow": replaced(ZSTD, SIZE, struct.pack("<q", -(2**61))),
    "stream.arrow": replaced(STREAM, SIZE, struct.pack("<q", 2**61)),
}


@pytest.mark.parametrize("name", ENDED)
def test_files_that_ended_the_process(tmp_path, name):
    path = tmp_path / name
    path.write_bytes(ENDED[name])
    program = (
        "import sys, calibrant\ntry: calibrant.load(sys.argv[1])\nexcept ValueError as e: print(e)"
    )
    words = [sys.executable, "-c", program, str(path)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert done.stdout.startswith(f"{path}: the file must ")
    assert done.stderr == ""


def test_a_dictionary_of_more_values_than_bytes(tmp_path):
    """With a large number in this place, polars asks for so much memory that the process ends."""
    path = tmp_path / "x.parquet"
    content = fuzzing.arrow_parquet(compression="none", write_statistics=False)
    path.write_bytes(replaced(content, b"\x4c\x15\x04", b"\x4c\x15\x7e"))  # 2 labels, 63
    with pytest.raises(ValueError, match=r"a page states a number of values that it cannot have"):
        load(path)


@pytest.mark.parametrize("kind", ["parquet", "arrow"])
def test_sizes_of_good_files_are_believed(tmp_path, kind):
    path = tmp_path / f"x.{kind}"
    for content in fuzzing.VALID[kind]:
        path.write_bytes(content)
        if kind == "arrow":
            check_arrow(path)
            continue
        found = ParquetSizes(path)
        found.check({chunk.column for chunk in found.chunks})
        metadata = pyarrow.parquet.read_metadata(path)
        columns = [
            metadata.row_group(g).column(c)
            for g in range(metadata.num_row_groups)
            for c in range(metadata.num_columns)
        ]
        stated = [(chunk.size, chunk.n_values) for chunk in found.chunks]
        assert stated == [(c.total_compressed_size, c.num_values) for c in columns]


ODD_LINES = {
    "a key twice": LINE.replace("}", ',"prob_a":0.1}'),
    "a key twice, with spaces": LINE.replace("}", ',"prob_a" \t: 0.1}'),
    "a key twice, with an escape": LINE.replace("}", ',"prob\\u005fa":0.1}'),
}


@pytest.mark.parametrize("line", ODD_LINES.values(), ids=ODD_LINES)
def test_a_key_twice_anywhere(tmp_path, line):
    path = tmp_path / "x.jsonl"
    path.write_text(LINE * 150 + line)
    with pytest.raises(ValueError, match=r"keys must differ .*; line 151 has 'prob_a' twice\."):
        load(path)


def test_names_of_keys_that_differ_by_spaces(tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_text(LINE.replace("}", ',"prob_a ":0.1}') + LINE)
    with pytest.raises(ValueError, match=r"columns must .* names; found 'prob_a' twice\."):
        load(path)


def test_keys_that_are_also_texts_or_nested_are_fine(tmp_path):
    path = tmp_path / "x.jsonl"
    odd = (
        '{"label":"prob_a","prob_prob_a":0.75,"prob_b":0.25,"x":{"prob_b":1},"y\\"z" : " prob_b"}\n'
    )
    path.write_text(odd * 3)
    assert load(path, label="label").labels.tolist() == [0, 0, 0]


def test_a_very_long_cell(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text(CSV.replace("label", "note,label").replace("\na", f"\n{'x' * 200_000},a")
                    .replace("\nb", "\ny,b"))  # fmt: skip
    assert load(path).n == 2
    path.write_text(CSV + f"a,{'9' * 200_000}x,0.5\n")
    with pytest.raises(ValueError, match=r"row 2 \(line 4\) has '999") as caught:
        load(path)
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize("end", ['"', 'a,"', 'a,1,"0.00', 'a,0.5,"0.5', 'a,0.5,"0.5\nb,0.5,0.5\n'])
def test_a_cut_after_an_opening_quote(tmp_path, end):
    path = tmp_path / "x.csv"
    path.write_text(CSV + end)
    with pytest.raises(ValueError, match=r"a quote that is opened must be closed; look at line 4"):
        load(path)


def test_an_open_quote_in_a_column_that_is_not_used(tmp_path):
    """All rows after it would be lost without a word."""
    path = tmp_path / "x.csv"
    rows = "label,prob_a,prob_b,note\na,0.75,0.25,x\n"
    path.write_text(f'{rows}a,0.5,0.5,"open\n' + "b,0.25,0.75,y\n" * 5)
    with pytest.raises(ValueError, match=r"a quote that is opened must be closed; look at line 3"):
        load(path)
    path.write_text(f'{rows}a,0.5,0.5,"two\nb,0.25,0.75,lines"\n')
    assert load(path).probs[:, 0].tolist() == [0.75, 0.5]
    path.write_text(f"{rows}b,0.25,0.75,{'x' * 100_000}\n,,,\n\n")
    assert load(path).probs[:, 0].tolist() == [0.75, 0.25]


def test_a_quote_in_the_middle_of_a_cell_does_not_swallow_rows(tmp_path):
    """The next quote closes it, some rows later, and the last line is as it should be."""
    path = tmp_path / "x.csv"
    good = 'a,0.75,0.25,"x"\nb,0.25,0.75,"y"\n'
    cut = 'a,0.5,0.5,"cut "here"\nb,0.5,0.5,x\na,0.5,0.5,"cut "there"\n'
    path.write_text(f"label,prob_a,prob_b,note\n{good}{cut}{good}")
    with pytest.raises(ValueError, match=r"a quote that is opened must be closed; look at line 4"):
        load(path)
    path.write_text(f"label,prob_a,prob_b,note\n{good}" + good.replace("x", "one\n\nrow") + "\n \n")
    assert load(path).probs[:, 0].tolist() == [0.75, 0.25] * 2


def test_a_cut_gzip_file_of_bytes_that_are_no_text(tmp_path):
    path = tmp_path / "x.csv.gz"
    path.write_bytes(gzip.compress(CSV.encode() + b"\xe4\xff,0.5,0.5\n" * 300)[:-9])
    with pytest.raises(ValueError, match=r"it is damaged or cut short"):
        load(path)


def test_a_header_of_an_array_that_python_cannot_parse(tmp_path):
    path = tmp_path / "x.npz"
    np.savez(path, probs=[[0.5, 0.5]], labels=[0])
    with zipfile.ZipFile(path) as archive:
        content = {name: archive.read(name) for name in archive.namelist()}
    content["probs.npy"] = content["probs.npy"].replace(b"}", b" ")
    with zipfile.ZipFile(path, "w") as archive:
        for name, part in content.items():
            archive.writestr(name, part)
    with pytest.raises(ValueError, match=r"the array 'probs' must be in NumPy's format"):
        load(path)


class Panic(BaseException):
    """What a compiled reader raises."""


FAILURES = [
    Panic("a\nb"),
    UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte"),
    json.JSONDecodeError("Expecting value", "x", 0),
    tokenize.TokenError("x"),
    KeyError("k"),
]


@pytest.mark.parametrize("error", FAILURES, ids=repr)
def test_any_failure_of_a_reader_is_a_sentence(error):
    with (
        pytest.raises(ValueError, match=r"^x: the file must be whole") as caught,
        one_sentence("x"),
    ):
        raise error
    assert type(caught.value) is ValueError
    assert "\n" not in str(caught.value)


def test_failures_of_the_system_are_sentences():
    with pytest.raises(ValueError, match=r"^x: .* readable; Is a directory\."), one_sentence("x"):
        raise OSError(21, "Is a directory")
    with pytest.raises(ValueError, match=r"^x: the file must fit in memory"), one_sentence("x"):
        raise MemoryError
    with pytest.raises(KeyboardInterrupt), one_sentence("x"):
        raise KeyboardInterrupt


@pytest.mark.parametrize("labels", [[10**30], [-(10**30)], [2**64], np.array([10**30], object)])
def test_labels_that_no_integer_holds(labels):
    with pytest.raises(ValueError, match=r"`labels` must be whole numbers from 0 to 1; row 0 has"):
        Predictions([[0.5, 0.5]], labels)


def test_the_time_for_many_columns_grows_with_their_number():
    """Names in other letters were looked for one by one: 50,000 took minutes, and take moments."""
    names = [f"prob_{j}" for j in range(50_000)]
    start = time.perf_counter()
    assert present("probs", names, [name.upper() for name in names]) == tuple(names)
    with pytest.raises(ValueError, match=r"found 'prob_0' twice"):
        present("probs", names, [*names, "PROB_0"])
    assert time.perf_counter() - start < 10


def test_frames_with_an_array_of_two_dimensions_in_a_column(tmp_path):
    path = tmp_path / "x.parquet"
    frame = pl.DataFrame({"y": [0, 1], "probs": [[[0.5, 0.5]], [[0.5, 0.5]]]})
    frame.write_parquet(path)
    with pytest.raises(TypeError, match=r"column 'probs' must hold numbers; found List\(List"):
        load(path, probs="probs")
    assert io.BytesIO(path.read_bytes()).read(4) == b"PAR1"
