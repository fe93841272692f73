"""Bad files and bad options: one sentence, the right exit code, and nothing left behind."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import polars as pl
import pytest
from command import COMMAND, run, run_process, write

QUICK = ("--resamples", "19")

# Contents of a CSV file, and a part of the sentence that it must be answered with.
TEXTS = {
    "empty": ("", "empty"),
    "header only": ("label,prob_a,prob_b\n", "row"),
    "no label": ("prob_a,prob_b\n0.5,0.5\n", "label"),
    "two labels": ("label,target,prob_a,prob_b\n0,0,0.5,0.5\n", "label"),
    "no probabilities": ("label\na\n", "prob"),
    "not a number": ("label,prob_a,prob_b\na,0.5,0.5\nb,oops,0.5\n", "oops"),
    "missing": ("label,prob_a,prob_b\na,0.5,0.5\nb,,1.0\n", "prob_a"),
    "NaN": ("label,prob_a,prob_b\na,0.5,0.5\nb,nan,1.0\n", "prob_a"),
    "infinite": ("label,prob_a,prob_b\na,0.5,0.5\nb,inf,1.0\n", "prob_a"),
    "negative": ("label,prob_a,prob_b\na,0.5,0.5\nb,-0.5,1.5\n", "prob_a"),
    "sum": ("label,prob_a,prob_b\na,0.5,0.5\nb,0.5,0.4\n", "sum"),
    "logits": ("label,prob_a,prob_b\na,3.2,-1.5\nb,-0.3,2.5\n", "logits"),
    "unknown label": ("label,prob_a,prob_b\na,0.5,0.5\nz,0.5,0.5\n", "z"),
    "missing label": ("label,prob_a,prob_b\na,0.5,0.5\n,0.5,0.5\n", "label"),
    "ragged": ("label,prob_a,prob_b\na,0.5,0.5\nb,0.5,0.5,0.1,0.2\n", "line"),
    "same columns": ("label,prob_a,prob_a\na,0.5,0.5\n", "prob_a"),
}


def check(result, code, part, folder=None):
    """Check that a result is one clear sentence on standard error."""
    assert result.exit_code == code, result.output
    assert result.stdout == ""
    lines = [line for line in result.stderr.splitlines() if line]
    last = lines[-1]
    assert part.lower() in " ".join(lines).lower()
    assert "Traceback" not in result.stderr
    if code == 1:
        assert len(lines) == 1
        assert last.startswith("calibrant: ")
        assert last.endswith((".", "?"))
    if folder is not None:
        assert list(folder.iterdir()) == []


@pytest.mark.parametrize("name", TEXTS)
def test_bad_files(name, tmp_path):
    text, part = TEXTS[name]
    path = tmp_path / "predictions.csv"
    path.write_text(text)
    (tmp_path / "out").mkdir()
    check(run("evaluate", path, *QUICK), 1, part)
    output = tmp_path / "out" / "r.html"
    check(run("report", path, "-o", output, *QUICK), 1, part, tmp_path / "out")


FILES = {
    "missing.csv": None,
    "text.parquet": b"this is not Parquet",
    "cut.npz": b"PK\x03\x04 cut",
    "odd.xlsx": b"PK\x03\x04",
    "noend": b"label,prob_a,prob_b\na,0.5,0.5\n",
    "broken.jsonl": b'{"label": "a", "prob_a": 0.5, "prob_b": 0.5}\n{"label": \n',
    "binary.csv": bytes(range(256)) * 20,
    "text.feather": b"ARROW1 and no more",
}


@pytest.mark.parametrize("name", FILES)
def test_files_that_cannot_be_read(name, tmp_path):
    path = tmp_path / name
    if FILES[name] is not None:
        path.write_bytes(FILES[name])
    check(run("evaluate", path, *QUICK), 1, name)


@pytest.mark.skipif(os.name == "nt", reason="links need rights there")
@pytest.mark.parametrize("command", ["evaluate", "compare", "recalibrate"])
def test_links_in_a_circle_are_a_sentence(command, tmp_path):
    (tmp_path / "a.csv").symlink_to("b.csv")
    (tmp_path / "b.csv").symlink_to("a.csv")
    others = [write(tmp_path / "good.csv")] if command == "compare" else []
    check(run(command, tmp_path / "a.csv", *others, *QUICK), 1, "a.csv")


def test_a_folder_is_no_file(tmp_path):
    check(run("evaluate", tmp_path, *QUICK), 1, tmp_path.name)


def test_a_bad_file_is_named_as_it_was_given(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
    write(tmp_path / "a/p.csv")
    (tmp_path / "b/p.csv").write_text("label\na\n")
    result = run("compare", "a/p.csv", "b/p.csv", *QUICK)
    assert result.exit_code == 1
    assert result.stderr.startswith("calibrant: b/p.csv: the columns of probabilities")


def test_a_cut_parquet_file(tmp_path):
    path = write(tmp_path / "a.parquet", n=2000)
    path.write_bytes(path.read_bytes()[:-100])
    check(run("evaluate", path, *QUICK), 1, "a.parquet")


BAD_USAGE = {
    "no file": (["evaluate"], "FILE"),
    "unknown command": (["evaluat", "GOOD"], "evaluat"),
    "unknown option": (["evaluate", "GOOD", "--lenses", "top"], "--lenses"),
    "lens": (["evaluate", "GOOD", "--lens", "topp"], "'topp'"),
    "lens without a class": (
        ["evaluate", "GOOD", "--lens", "class:"],
        "must be a class of the data: cat",
    ),
    "lens of an unknown class": (["evaluate", "GOOD", "--lens", "class:fish"], "'fish'"),
    "lens of an index too high": (["evaluate", "GOOD", "--lens", "class:3"], "'3'"),
    "lens with an odd ending": (["evaluate", "GOOD", "--lens", "canonical:3"], "'canonical:3'"),
    "top without a number": (["evaluate", "GOOD", "--lens", "top:"], "whole number"),
    "top 0": (["evaluate", "GOOD", "--lens", "top:0"], "whole number"),
    "top x": (["evaluate", "GOOD", "--lens", "top:x"], "whole number"),
    "groups: one": (["evaluate", "GOOD", "--lens", "groups:0-2"], "at least two groups"),
    "groups: not all": (["evaluate", "GOOD", "--lens", "groups:cat|dog"], "bird"),
    "groups: twice": (["evaluate", "GOOD", "--lens", "groups:cat,dog|dog,bird"], "dog"),
    "groups: beyond": (["evaluate", "GOOD", "--lens", "groups:0-1|2-3"], "'2-3'"),
    "groups: huge": (["evaluate", "GOOD", "--lens", "groups:0|1-999999999"], "'1-999999999'"),
    "groups: reversed": (["evaluate", "GOOD", "--lens", "groups:1-0|2"], "'1-0'"),
    "groups: empty": (["evaluate", "GOOD", "--lens", "groups:cat||dog,bird"], "--lens"),
    "report groups": (["report", "GOOD", "--groups", "cat|fish", "-o", "OUT.html"], "--groups"),
    "report no groups": (["report", "GOOD", "--groups", "", "-o", "OUT.html"], "--groups"),
    "partition": (["evaluate", "GOOD", "--partition", "widths:10"], "'widths:10'"),
    "partition without a number": (["evaluate", "GOOD", "--partition", "width"], "'width'"),
    "partition of 0": (["evaluate", "GOOD", "--partition", "width:0"], "whole number"),
    "partition of 1.5": (["evaluate", "GOOD", "--partition", "width:1.5"], "whole number"),
    "tree of 0": (["evaluate", "GOOD", "--partition", "tree:0"], "a number above 0"),
    "tree at the mode": (["evaluate", "GOOD", "--partition", "tree:9:mode"], "split"),
    "distance": (["evaluate", "GOOD", "--distance", "l3"], "'l3'"),
    "region": (["evaluate", "GOOD", "--region", "dog is 0.1"], "conditions"),
    "region: empty": (["evaluate", "GOOD", "--region", ""], "conditions"),
    "region: no number": (["evaluate", "GOOD", "--region", "dog > x"], "conditions"),
    "region: two points": (["evaluate", "GOOD", "--region", "dog > 0.1.2"], "0.1.2"),
    "region: unknown class": (["evaluate", "GOOD", "--region", "fish > 0.1"], "'fish'"),
    "region: open": (["evaluate", "GOOD", "--region", "dog > 0.1 and"], "conditions"),
    "resamples 0": (["evaluate", "GOOD", "--resamples", "0"], "resamples"),
    "resamples x": (["evaluate", "GOOD", "--resamples", "x"], "resamples"),
    "seed": (["evaluate", "GOOD", "--seed", "-1"], "seed"),
    "fail below 2": (["test", "GOOD", "--fail-below", "2"], "fail-below"),
    "compare one": (["compare", "GOOD"], "two files"),
    "compare the same": (["compare", "GOOD", "GOOD"], "differ"),
    "plot ending": (["plot", "GOOD", "-o", "OUT.gif"], ".png"),
    "report ending": (["report", "GOOD", "-o", "OUT.pdf"], ".html"),
    "data set": (["datasets", "alexnet"], "lenet"),
    "data set ending": (["datasets", "lenet", "-o", "OUT.xlsx"], ".parquet"),
}


@pytest.mark.parametrize("name", BAD_USAGE)
def test_bad_usage(name, good, tmp_path):
    words, part = BAD_USAGE[name]
    words = [str(good) if w == "GOOD" else w.replace("OUT", str(tmp_path / "out")) for w in words]
    check(run(*words), 2, part, tmp_path)


MISMATCHES = {
    "no row is left": (["evaluate", "GOOD", "--region", "dog > 1e999"], "row"),
    "top 3 of 3": (["evaluate", "GOOD", "--lens", "top:3"], "less than the number of classes"),
    "quantiles of three": (["evaluate", "GOOD", "--partition", "mass:5"], "two outcomes"),
    "label column": (["evaluate", "GOOD", "--label", "truth"], "truth"),
    "probability column": (["evaluate", "GOOD", "--probs", "prob_cat,prob_cow"], "prob_cow"),
    "weight column": (["evaluate", "GOOD", "--weight", "w"], "w"),
    "classes": (["evaluate", "GOOD", "--classes", "a,b"], "class"),
    "plot bars": (["plot", "GOOD", "--lens", "canonical", "--style", "bars"], "--style"),
    "plot regions": (["plot", "GOOD", "--lens", "top", "--regions"], "regions"),
    "output folder": (["report", "GOOD", "-o", "OUT/no/r.html"], "does not exist"),
    "output is a folder": (["plot", "GOOD", "-o", "OUTDIR.png"], "is a folder"),
}


@pytest.mark.parametrize("name", MISMATCHES)
def test_options_that_do_not_fit_the_data(name, good, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words, part = MISMATCHES[name]
    words = [str(good) if w == "GOOD" else w.replace("OUT", str(tmp_path / "out")) for w in words]
    folder = tmp_path / "outDIR.png"
    if str(folder) in words:
        folder.mkdir()
    check(run(*words, *QUICK), 1, part)
    assert [path for path in tmp_path.iterdir() if path != folder] == []


OPTIONS = {
    "region": (["evaluate", "GOOD", "--region", "dog > 2"], "--region must keep at least one row"),
    "label": (["evaluate", "GOOD", "--label", "truth"], "--label must name columns"),
    "probs": (["evaluate", "GOOD", "--probs", "prob_cow"], "--probs must name columns"),
    "classes": (["evaluate", "GOOD", "--classes", "a,b"], "--classes must name the 3 classes"),
    "weight": (["evaluate", "GOOD", "--weight", "w"], "--weight must name columns"),
    "logits": (["evaluate", "GOOD", "--logits"], "Then leave out --logits"),
    "lens": (["evaluate", "GOOD", "--lens", "top:3"], "Use --lens canonical for all of them"),
    "unpaired": (["compare", "GOOD", "SHORT"], "Use --unpaired if they have different rows"),
    "quantiles": (["evaluate", "GOOD", "--partition", "mass:5"], "--lens top or --lens class:NAME"),
    "outcomes": (["plot", "FIVE", "--lens", "canonical"], "--lens top:2 or --lens groups:…"),
    "regions": (
        ["plot", "GOOD", "--lens", "top", "--regions"],
        "--regions is for diagrams of 3 outcomes",
    ),
    "sums": (["evaluate", "SUMS"], "the probabilities must sum to 1 in each row"),
    "file": (["evaluate", "none.csv"], "'none.csv' does not exist"),
}


@pytest.mark.parametrize("name", OPTIONS)
def test_sentences_name_options(name, good, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sums.csv").write_text("label,prob_a,prob_b\na,0.5,0.4\n")
    files = {
        "GOOD": good,
        "SHORT": write(tmp_path / "short.csv", n=20),
        "FIVE": write(tmp_path / "five.csv", classes=tuple("abcde")),
        "SUMS": "sums.csv",
    }
    words, part = OPTIONS[name]
    result = run(*[files.get(word, word) for word in words], *QUICK)
    check(result, 1, part)
    assert "`" not in result.stderr


def test_models_that_do_not_fit_together(good, tmp_path):
    other = write(tmp_path / "other.csv", classes=("cat", "dog", "fish"))
    check(run("compare", good, other, *QUICK), 1, "same classes")
    check(run("report", good, other, "-o", tmp_path / "r.html", *QUICK), 1, "same classes")
    assert list(tmp_path.iterdir()) == [other]


def test_more_than_four_groups_cannot_be_drawn(tmp_path):
    path = write(tmp_path / "five.csv", classes=tuple("abcde"))
    words = ("--groups", "a|b|c|d|e", "-o", tmp_path / "r.html")
    check(run("report", path, *words, *QUICK), 2, "two, three or four groups")
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_that_cannot_be_written(good, tmp_path):
    if os.geteuid() == 0:
        folder = "/proc"  # where even the superuser cannot make a file
    else:
        folder = tmp_path / "closed"
        folder.mkdir(mode=0o500)
    check(run("report", good, "-o", f"{folder}/r.html", *QUICK), 1, "cannot write")


def test_an_error_while_writing_leaves_the_old_file(good, tmp_path, monkeypatch):
    output = tmp_path / "r.html"
    output.write_text("the old report")

    def full(*_args, **_options):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pathlib.Path.write_text", full)
    check(run("report", good, "-o", output, *QUICK), 1, "No space left on device")
    monkeypatch.undo()
    assert list(tmp_path.iterdir()) == [output]
    assert output.read_text() == "the old report"


@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_report_leaves_nothing(tmp_path, sign):
    data = tmp_path / "data"
    data.mkdir()
    path = write(data / "a.parquet", n=200_000, classes=tuple(f"c{j}" for j in range(20)))
    out = tmp_path / "out"
    out.mkdir()
    words = [*COMMAND, "report", str(path), "-o", str(out / "r.html"), "--resamples", "100000"]
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as process:
        time.sleep(4)  # it reads the file, or draws
        process.send_signal(sign)
        _, error = process.communicate(timeout=60)
    assert process.returncode == 130
    assert error == "calibrant: interrupted.\n"
    assert list(out.iterdir()) == []


def test_a_reader_that_has_seen_enough_is_no_error(good):
    command = " ".join([*COMMAND, "evaluate", str(good), "--resamples", "19", "| head -n 1"])
    result = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert result.stdout.count("\n") == 1
    assert result.stderr == ""


@pytest.mark.skipif(os.name == "nt", reason="shells there close nothing")
def test_closed_standard_streams_are_no_error(good, tmp_path):
    page = tmp_path / "r.html"
    command = " ".join([*COMMAND, "report", str(good), "--resamples", "19", "-o", str(page)])
    assert subprocess.run(["bash", "-c", f"{command} <&- >&- 2>&-"], check=False).returncode == 0
    assert page.read_text().endswith("</html>")
    command = " ".join([*COMMAND, "evaluate", "-", "<&-"])
    result = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert (
        result.stderr
        == "calibrant: standard input: the file must have a header and rows; it is empty.\n"
    )


@pytest.mark.skipif(sys.platform != "linux", reason="names are UTF-8 elsewhere")
def test_names_that_are_not_utf8_are_shown(good, tmp_path):
    odd = tmp_path / os.fsdecode(b"\xff.csv")
    odd.write_bytes(good.read_bytes())
    for words in (["report", "-o", tmp_path / "r.html"], ["plot", good, "-o", tmp_path / "r.svg"]):
        result = run(*words, odd, *QUICK)
        assert result.exit_code == 0, result.output
        assert r"\udcff" in words[-1].read_text()


def test_no_traceback_in_a_process_of_its_own(tmp_path):
    result = run_process("evaluate", tmp_path / "none.csv")
    assert result.returncode == 1
    assert result.stderr.startswith("calibrant: ")
    assert len(result.stderr.splitlines()) == 1


@pytest.mark.skipif(sys.platform != "linux", reason="reads the peak from /proc")
def test_memory_stays_near_twice_the_data(tmp_path):
    n, m = 400_000, 20
    rng = np.random.default_rng(0)
    probs = rng.dirichlet([0.5] * m, n)
    labels = rng.integers(0, m, n)
    path = tmp_path / "large.parquet"
    columns = {f"prob_{j}": probs[:, j] for j in range(m)}
    pl.DataFrame({"label": labels, **columns}).write_parquet(path)

    def peak(*words):
        program = (
            "import resource, sys; from calibrant.cli import app\n"
            "try: app(sys.argv[1:])\n"
            "except SystemExit: pass\n"
            "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, file=sys.stderr)"
        )
        words = [sys.executable, "-c", program, *map(str, words)]
        found = subprocess.run(words, capture_output=True, text=True, check=True)
        return 1024 * int(found.stderr.split()[-1])

    small = peak("evaluate", write(tmp_path / "small.parquet"), "--resamples", "19")
    large = peak("evaluate", path, "--resamples", "19")
    assert large - small <= 2.5 * probs.nbytes
