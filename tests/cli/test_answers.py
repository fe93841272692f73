"""What people read: every command answers in its first line, and fits on a screen."""

import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from command import run, write
from scipy.special import softmax

CLASSES = {10: ".csv", 1000: ".parquet"}
FEW = ("--resamples", "39")
UNNATURAL = re.compile(r"(?<![\d.])[-−+]?0\.0 points|[-−]0\.0+(?!\d)|\bnan\b|\binf\b")

# The first line of each command, on an overconfident model, and on a calibrated one.
FIRST = {
    ("evaluate",): (r"The full distributions .* miscalibrated: p", r"No evidence that the full"),
    ("test", "--lens", "top"): (
        r"(The probabilities of .* too high|The model is overconfident), by \d",
        r"No evidence that the",
    ),
    ("plot", "-o", "p.png"): (r"\d+ of \d+ bins are further", r"None of the \d+ bins is"),
    ("plot", "--kind", "isotonic", "-o", "i.png"): (r"The curve is further", r"No part of the c"),
    ("report", "-o", "r.html"): (
        r"(The probabilities of .* too high|The model is overconfident), by",
        r"No evidence that the",
    ),
    ("recalibrate", "--method", "temperature", "--save", "map.json"): (r"Use temp", r"Leave it"),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("answers")
    for m, ending in CLASSES.items():
        write_networks(path, m, ending)
    return path


def write_networks(path, m, ending, n=400):
    """Write the predictions of a calibrated network, and of an overconfident one."""
    rng = np.random.default_rng(0)
    logits = 3 * rng.standard_normal((n, m))
    labels = (logits + rng.gumbel(size=(n, m))).argmax(axis=1)
    for name, factor in (("good", 1.0), ("sure", 2.0)):
        probs = softmax(factor * logits, axis=1)
        columns = {f"prob_class {j}": probs[:, j] for j in range(m)}
        frame = pl.DataFrame({"label": [f"class {y}" for y in labels], **columns})
        file = path / f"{name}{m}{ending}"
        frame.write_csv(file) if ending == ".csv" else frame.write_parquet(file)


@pytest.fixture(autouse=True)
def inside(folder, monkeypatch):
    monkeypatch.chdir(folder)  # names are short, as a user's are


def lines_of(*words):
    """Run a command, and return the lines it wrote, which must fit on a screen."""
    result = run(*words)
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert len(lines) <= 60, words
    assert max(map(len, lines)) <= 100, words
    assert not UNNATURAL.search(result.stdout), result.stdout
    return lines


@pytest.mark.parametrize("m", CLASSES)
@pytest.mark.parametrize("words", FIRST)
def test_the_first_line_answers_and_all_fits_on_a_screen(m, words):
    name, *options = words
    for model, answer in zip(("sure", "good"), FIRST[words], strict=True):
        first, *_ = lines_of(name, f"{model}{m}{CLASSES[m]}", *options, *FEW)
        assert re.match(answer, first), first


@pytest.mark.parametrize("m", CLASSES)
def test_comparisons(m):
    files = [f"{model}{m}{CLASSES[m]}" for model in ("good", "sure")]
    first, *_ = lines_of("compare", *files, "--lens", "top", *FEW)
    assert first.startswith(f"The probabilities of the predicted class: sure{m} is further off")
    first, *_ = lines_of("plot", *files, "-o", "two.png", *FEW)
    assert first.startswith(f"good{m}: none of the")
    first, *_ = lines_of("report", *files, "-o", "two.html", *FEW)
    assert ": " in first


@pytest.mark.parametrize("m", CLASSES)
def test_power(m):
    first, *_ = lines_of("power", f"good{m}{CLASSES[m]}", "--lens", "top", *FEW)
    assert first.startswith("400 rows would show, in 80")
    options = ("--temperature", "3", "--shift", "-1", *FEW)
    first, *_ = lines_of("power", f"good{m}{CLASSES[m]}", *options)
    assert re.match(
        r"400 rows would show it in \d+\s% of data sets if the model were overconfident", first
    )


@pytest.mark.parametrize("m", CLASSES)
def test_files_are_written_with_a_sentence(m):
    file = f"good{m}{CLASSES[m]}"
    run("recalibrate", file, "--method", "temperature", "--save", f"map{m}.json", *FEW)
    lines = lines_of("apply", f"map{m}.json", file, "-o", f"new{CLASSES[m]}")
    assert lines[0].startswith(f"Written to new{CLASSES[m]}: 400 rows, with 'prob_class 0', ")
    assert "All other columns are as they were." in " ".join(lines)


@pytest.mark.parametrize("command", ["evaluate", "test", "compare", "plot"])
def test_where_nothing_can_be_told_the_first_line_says_so(command):
    files = ["sure10.csv", "good10.csv"] if command == "compare" else ["sure10.csv"]
    first, *_ = lines_of(command, *files, "--resamples", "18")
    assert re.search("Cannot tell|cannot tell|cannot be judged", first), first


def test_data_sets_are_listed_and_written():
    assert lines_of("datasets")[2].startswith("lenet     LeNet on the test images of CIFAR-10")
    assert lines_of("datasets", "lenet")[0].startswith("Written to lenet.csv: LeNet on the test")


def test_what_is_not_known_is_not_said_in_numbers(tmp_path, monkeypatch):
    """A rejected model whose size without bias is 0 is not "off by 0.0 points"."""
    monkeypatch.chdir(tmp_path)
    path = write(Path("few.csv"), n=50, power=3.0)
    for lens in ("canonical", "top"):
        lines_of("test", path, "--lens", lens, *FEW)
    lines_of("compare", path, write(Path("other.csv"), n=50), *FEW)
    path.write_text("confidence,correct\n" + "1.0,0\n1.0,1\n" * 50 + "0.6,1\n" * 50)
    first, *rest = lines_of("evaluate", path, *FEW)
    assert first.startswith("The model is overconfident in some places and underconfident in")
    assert "log loss ∞" in " ".join(rest)
    assert "The Brier score adds up both outcomes" in " ".join(" ".join(rest).split())


def test_a_few_clusters_cannot_tell(tmp_path):
    """Of k clusters there are 2^k signs, of which opposite ones are equal: five give p = 1/16."""
    for n_clusters, expected in ((5, "Cannot tell with 5 clusters whether"), (6, "The prob")):
        path = tmp_path / f"{n_clusters}.csv"
        rows = [f"{k},0.9,{int(i < 10)}" for k in range(n_clusters) for i in range(40)]
        path.write_text("\n".join(["ward,prob,outcome", *rows]))
        first, *_ = lines_of("test", path, "--cluster", "ward", "--resamples", "999")
        assert first.startswith(expected)


def test_an_infinite_log_loss_names_its_row(tmp_path):
    rows = [(1, 0.5), (0, 0.25), (0, 1.0), (1, 0.5)]
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text("label,prob\n" + "\n".join(f"{y},{p}" for y, p in rows))
    reason = "is infinite: in row 2 (counted from 0), what was given 100 % did not occur."
    one = run("evaluate", str(tmp_path / "a.csv"), *FEW).stdout
    assert f"The log loss {reason}" in " ".join(one.split())
    two = run("compare", str(tmp_path / "a.csv"), str(tmp_path / "b.csv"), *FEW).stdout
    assert f"The log loss of a {reason}" in " ".join(two.split())


def test_tables_say_the_sign_of_the_bias():
    for words in (
        ("compare", "good10.csv", "sure10.csv"),
        ("power", "good10.csv", "--lens", "top"),
    ):
        assert "bias (predicted − observed)" in run(*words, *FEW).stdout
