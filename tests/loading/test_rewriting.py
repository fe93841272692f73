"""A file with other probabilities: everything else stays."""

import gzip
import json
import re
from time import process_time

import numpy as np
import polars as pl
import pytest

from calibrant.loading import formats
from calibrant.loading.columnar import Columnar
from calibrant.loading.formats import Rewriting
from calibrant.loading.records import records
from calibrant.loading.roles import Options

HALF = ("cat", "dog")


def swapped(probs):
    """Return the probabilities of two classes, exchanged."""
    return np.ascontiguousarray(probs[:, ::-1])


def rewrite(path, output, classes=HALF, change=swapped, **options):
    return Rewriting(path, classes, Options(**options)).write(output, change)[0]


def test_all_other_cells_of_a_csv_file_stay_as_they_are(tmp_path):
    text = (
        "id;note;prob_dog;prob_cat;date\n"
        '007;"a; b ""c""";0.25;0.75;01.02.2024\n'
        "1e3;;1;0; x \n"
        '008;"two\nlines";0.125;0.875;NA\n\n\n'
    )
    (tmp_path / "in.csv").write_text(text)
    assert rewrite(tmp_path / "in.csv", tmp_path / "out.csv") == 3
    assert (tmp_path / "out.csv").read_text() == (
        "id;note;prob_dog;prob_cat;date\n"
        '007;"a; b ""c""";0.75;0.25;01.02.2024\n'
        "1e3;;0.0;1.0; x \n"
        '008;"two\nlines";0.875;0.125;NA\n\n\n'
    )


def test_columns_are_found_by_the_classes_of_the_map_in_any_order(tmp_path):
    (tmp_path / "in.tsv").write_text("DOG\tother\tcat\n0.25\t9\t0.75\n")
    rewrite(tmp_path / "in.tsv", tmp_path / "out.tsv")
    assert (tmp_path / "out.tsv").read_text() == "DOG\tother\tcat\n0.75\t9\t0.25\n"


@pytest.mark.parametrize("name", ["prob", "p_dog", "score"])
def test_a_single_column_is_the_second_of_two_classes(tmp_path, name):
    (tmp_path / "in.csv").write_text(f"x,{name}\n1,0.25\n2,1.0\n")
    rewrite(tmp_path / "in.csv", tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_text() == f"x,{name}\n1,0.75\n2,0.0\n"


def test_logits_stay_logits(tmp_path):
    (tmp_path / "in.csv").write_text("logit_cat,logit_dog\n0.0,0.0\n1.0,-1.0\n")
    rewrite(tmp_path / "in.csv", tmp_path / "out.csv", values="logits")
    out = pl.read_csv(tmp_path / "out.csv").to_numpy()
    assert out[:, 1] - out[:, 0] == pytest.approx([0.0, 2.0])
    (tmp_path / "one.csv").write_text("logit\n3.0\n")
    rewrite(tmp_path / "one.csv", tmp_path / "out.csv", values="logits")
    assert pl.read_csv(tmp_path / "out.csv").item() == pytest.approx(-3.0)


@pytest.mark.parametrize("ending", ["parquet", "arrow"])
def test_columnar_files_keep_their_types(tmp_path, ending):
    frame = pl.DataFrame(
        {
            "when": pl.Series([1, 2], dtype=pl.Datetime),
            "prob_cat": pl.Series([0.25, 0.5], dtype=pl.Float32),
            "tags": [["a"], []],
            "prob_dog": pl.Series([0.75, 0.5], dtype=pl.Float32),
        }
    )
    path, output = tmp_path / f"in.{ending}", tmp_path / f"out.{ending}"
    (frame.write_parquet if ending == "parquet" else frame.write_ipc)(path)
    rewrite(path, output)
    found = (pl.read_parquet if ending == "parquet" else pl.read_ipc)(output)
    assert found.columns == frame.columns
    assert found.drop("prob_cat", "prob_dog").equals(frame.drop("prob_cat", "prob_dog"))
    assert found["prob_cat"].to_list() == [0.75, 0.5]


def test_json_lines_and_compressed_files(tmp_path):
    lines = [{"id": "ä", "cat": 0.25, "dog": 0.75, "deep": {"x": [1]}}]
    (tmp_path / "in.jsonl").write_text("\n".join(map(json.dumps, lines)) + "\n\n")
    rewrite(tmp_path / "in.jsonl", tmp_path / "out.jsonl")
    (found, empty) = (tmp_path / "out.jsonl").read_text("utf-8").splitlines()
    assert empty == ""
    assert json.loads(found) == lines[0] | {"cat": 0.75, "dog": 0.25}
    (tmp_path / "in.csv.gz").write_bytes(gzip.compress(b"cat,dog\n0.25,0.75\n"))
    rewrite(tmp_path / "in.csv.gz", tmp_path / "out.csv.gz")
    assert gzip.decompress((tmp_path / "out.csv.gz").read_bytes()) == b"cat,dog\n0.75,0.25\n"


TABLES = {
    "rows": [{"id": "ä", "cat": 0.25, "dog": 0.75, "x": [1]}, {"cat": 1, "dog": 0, "z": None}],
    "columns": {"cat": [0.25, 1], "id": ["ä", None], "dog": [0.75, 0]},
}


@pytest.mark.parametrize("name", TABLES)
def test_json_stays_what_it_is(tmp_path, name):
    (tmp_path / "in.json").write_text(json.dumps(TABLES[name]))
    assert rewrite(tmp_path / "in.json", tmp_path / "out.json") == 2
    found = json.loads((tmp_path / "out.json").read_text("utf-8"))
    if name == "rows":
        first, second = TABLES[name]
        assert found == [first | {"cat": 0.75, "dog": 0.25}, second | {"cat": 0.0, "dog": 1.0}]
    else:
        assert found == TABLES[name] | {"cat": [0.75, 0.0], "dog": [0.25, 1.0]}


@pytest.mark.parametrize("ending", ["parquet", "arrow", "jsonl", "json"])
def test_lists_stay_lists(tmp_path, ending):
    frame = pl.DataFrame({"id": [1, 2], "probs": [[0.25, 0.75], [1.0, 0.0]]})
    path, output = tmp_path / f"in.{ending}", tmp_path / f"out.{ending}"
    names = {"arrow": "ipc", "jsonl": "ndjson"}
    getattr(frame, f"write_{names.get(ending, ending)}")(path)
    assert rewrite(path, output) == 2
    found = getattr(pl, f"read_{names.get(ending, ending)}")(output)
    assert found.columns == ["id", "probs"]
    assert found["probs"].dtype == pl.List(pl.Float64)
    assert found["probs"].to_list() == [[0.75, 0.25], [0.0, 1.0]]
    with pytest.raises(ValueError, match="fitted to, 'a', 'b', 'c'; found '2 entries in each list"):
        rewrite(path, output, classes=("a", "b", "c"))


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("prob_cat,prob_cow\n0.5,0.5\n", "fitted to, 'cat', 'dog'; found 'cat', 'cow'"),
        ("prob_cat,prob_dog,prob_cow\n0.5,0.5,0\n", "found 'cat', 'dog', 'cow'"),
        ("p_cat,x\n0.5,1\n", "found 'cat'. Name them with `probs`"),
        ("x,y\na,b\n", "columns of probabilities must be called"),
        ("cat,dog\n0.5,0.6\n", r"sum to 1.*line 2"),
        ("cat,dog\n0.5,oops\n", "'oops' in column 'dog'"),
        ("cat,dog\n0.5,\n", "has none in column 'dog'"),
        ("cat,dog\n3.0,-1\n", "logits"),
        ("", "it is empty"),
    ],
)
def test_what_does_not_fit_the_map_is_refused(tmp_path, text, match):
    (tmp_path / "in.csv").write_text(text)
    with pytest.raises(ValueError, match=match):
        rewrite(tmp_path / "in.csv", tmp_path / "out.csv")
    assert not (tmp_path / "out.csv").exists()


def test_more_classes_than_two_need_their_columns(tmp_path):
    (tmp_path / "in.csv").write_text("prob\n0.5\n")
    with pytest.raises(ValueError, match="fitted to, 'a', 'b', 'c'; found 'prob'"):
        rewrite(tmp_path / "in.csv", tmp_path / "out.csv", classes=("a", "b", "c"))


def test_arrays_have_no_other_columns(tmp_path):
    np.savez(tmp_path / "in.npz", probs=np.eye(2))
    with pytest.raises(ValueError, match=r"in.npz: the file must have columns; NPZ has arrays"):
        rewrite(tmp_path / "in.npz", tmp_path / "out.npz")


WHOLE = {  # what is changed in turn, and all around it that must stay to the last byte
    "a carriage return in a cell": (
        "csv",
        "prob,label,note\n{0.25},a,first\rline\n{0.5},b,second\n{0.75},a,third\n",
    ),
    "a carriage return between quotes": ("csv", 'prob,note\n{0.25},"x\ry"\n{0.5},"\r"\n'),
    "quotes that are not needed": ("csv", '"prob",note\n{0.25},"x"\n{0.5},x\n'),
    "numbers between quotes": ("csv", 'prob,note\n"{0.25}","x"\n"{0.5}",\n'),
    "a long cell": ("csv", f"prob,note\n{{0.25}},{'x' * 200_000}\n{{0.5}},\"{'y,' * 200_000}\"\n"),
    "many lines in a cell": ("csv", 'prob,note\n{0.25},"z' + "\n" * 3000 + '"\n{0.5},\n'),
    "ends of Windows": ("csv", 'prob,note\r\n{0.25},"a\r\nb"\r\n{0.5},c\r\r\n'),
    "no end": ("csv", "note,prob\na,{0.25}\nb,{0.5}"),
    "half an end": ("csv", "note,prob\na,{0.25}\nb,{0.5}\r"),
    "lines without anything": ("csv", "\n\nprob,note\n{0.25},a\n{0.5},b\n\n,\n\n"),
    "a byte order mark": ("csv", "\ufeffprob,note\n{0.25},ä\n{0.5},\x1b[31m\n"),
    "a zero byte": ("csv", "prob,note\n{0.25},a\0b\n{0.5},\n"),
    "other separators": ("txt", "prob note\n{0.25} a,b\n{0.5} \"c d\"\n"),
    "JSON lines": (
        "jsonl",
        '{"id":1.10, "prob" : {0.25},"x":1.100000000000}\n\n'
        '{ "prob":{0.5},"id":1234567890123456789}',
    ),
    "JSON with a mark": (
        "json",
        '\ufeff[{"prob":{0.25},"k":"\\u00e4\\/"} , {"k":0.10,"prob":{0.5}} ]\n',
    ),
    "JSON of columns": ("json", '{"k" : [1.0, 1.00], "prob":[{0.25}, {0.5}],"z":[null,NaN]}'),
}  # fmt: skip


def filled(text, change):
    """Return a text with its numbers changed."""
    return re.sub(r"\{(0\.\d+)\}", lambda found: repr(change(float(found[1]))), text)


@pytest.mark.parametrize("name", WHOLE)
def test_all_but_the_numbers_comes_out_to_the_last_byte(tmp_path, name):
    ending, text = WHOLE[name]
    path, output = tmp_path / f"in.{ending}", tmp_path / f"out.{ending}"
    path.write_bytes(filled(text, float).encode())
    rewrite(path, output)
    assert output.read_bytes() == filled(text, lambda p: 1 - p).encode()
    assert sorted(file.name for file in tmp_path.iterdir()) == sorted([path.name, output.name])


class Careless:
    """A store that writes something else than it was told."""

    def __init__(self, store, spoil):
        self.store, self.spoil = store, spoil

    def __getattr__(self, name):
        return getattr(self.store, name)

    def write(self, output, columns):
        self.store.write(output, columns)
        output.write_bytes(self.spoil(output.read_bytes()))


SPOILS = {
    "a row is lost": lambda text: text.rstrip().rpartition(b"\n")[0] + b"\n",
    "another cell": lambda text: text.replace(b"second", b"secOnd"),
    "another number": lambda text: text.replace(b"0.75", b"0.7500000000000001"),
    "a column is called otherwise": lambda text: text.replace(b"note", b"n0te"),
    "nothing": lambda _: b"",
    "no number": lambda text: text.replace(b"0.75", b"nan"),
}


@pytest.mark.parametrize("how", SPOILS)
@pytest.mark.parametrize("ending", ["csv", "jsonl", "json"])
def test_what_reads_otherwise_than_it_was_meant_replaces_nothing(
    tmp_path, monkeypatch, how, ending
):
    frame = pl.DataFrame({"note": ["first", "second"], "prob": [0.25, 0.5]})
    path, output = tmp_path / f"in.{ending}", tmp_path / f"out.{ending}"
    names = {"jsonl": "ndjson"}
    getattr(frame, f"write_{names.get(ending, ending)}")(path)
    output.write_text("old")
    opened = formats.FORMATS[f".{ending}"]
    calls = iter(range(9))
    monkeypatch.setitem(
        formats.FORMATS,
        f".{ending}",
        lambda file: opened(file) if next(calls) else Careless(opened(file), SPOILS[how]),
    )
    with pytest.raises(ValueError, match=r"what was written must read as what was meant; it"):
        rewrite(path, output)
    assert output.read_text() == "old"
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.parametrize("ending", ["parquet", "arrow"])
def test_frames_are_compared_too(tmp_path, monkeypatch, ending):
    frame = pl.DataFrame({"note": ["first", "second"], "prob": [0.25, 0.5]})
    path, output = tmp_path / f"in.{ending}", tmp_path / f"out.{ending}"
    (frame.write_parquet if ending == "parquet" else frame.write_ipc)(path)
    other = frame.with_columns(note=pl.Series(["first", "third"]), prob=pl.Series([0.75, 0.5]))
    write = other.write_parquet if ending == "parquet" else other.write_ipc
    monkeypatch.setattr(Columnar, "write", lambda _, output, __: write(output))
    with pytest.raises(ValueError, match=r"it does not, so nothing was replaced"):
        rewrite(path, output)
    assert not output.exists()


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_nothing_but_probabilities_is_written(tmp_path, bad):
    (tmp_path / "in.csv").write_text("cat,dog\n0.5,0.5\n")
    with pytest.raises(ValueError, match=r"the map must give probabilities; it gives (nan|inf)"):
        rewrite(tmp_path / "in.csv", tmp_path / "out.csv", change=lambda p: p + bad)
    assert not (tmp_path / "out.csv").exists()


def certain(probs):
    return np.tile([1.0, 0.0], (len(probs), 1))


def test_logits_of_0_are_written_where_they_can_be_read(tmp_path):
    (tmp_path / "in.csv").write_text("logit_cat,logit_dog\n0.0,0.0\n")
    rewrite(tmp_path / "in.csv", tmp_path / "out.csv", values="logits", change=certain)
    assert (tmp_path / "out.csv").read_text() == "logit_cat,logit_dog\n0.0,-inf\n"
    (tmp_path / "in.csv").write_text("logit\n0.0\n")
    with pytest.raises(ValueError, match=r"probabilities that have logits; it gives 0 and 1"):
        rewrite(tmp_path / "in.csv", tmp_path / "out.csv", values="logits", change=certain)
    (tmp_path / "in.jsonl").write_text('{"logit_cat": 0.0, "logit_dog": 0.0}\n')
    with pytest.raises(ValueError, match=r"numbers of JSON must be finite; found -inf"):
        rewrite(tmp_path / "in.jsonl", tmp_path / "out.jsonl", values="logits", change=certain)


def test_a_line_of_many_cells_takes_time_that_grows_with_its_length():
    def seconds(cells):
        line = '"0.5"' + ",0.5" * cells
        times = []
        for _ in range(3):
            begin = process_time()
            (record,) = records([line], ",")
            times.append(process_time() - begin)
            assert len(record.cells) == cells + 1
        return min(times)

    # eight times the cells take 8 times as long; they took 64 times as long
    assert seconds(160_000) < 24 * seconds(20_000)
