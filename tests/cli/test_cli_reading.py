"""Every command says what it read, and takes files as people have them."""

import json

import numpy as np
import polars as pl
import pytest
from command import run, run_process, write

QUICK = ("--resamples", "19")
COMMANDS = {
    "evaluate": ("evaluate", "FILE"),
    "test": ("test", "FILE"),
    "plot": ("plot", "FILE", "-o", "OUT.svg"),
    "report": ("report", "FILE", "-o", "OUT.html"),
}


def words(command, file, tmp_path):
    full = [word.replace("OUT", str(tmp_path / "out")) for word in COMMANDS[command]]
    return [str(file) if word == "FILE" else word for word in full]


@pytest.fixture
def rain(tmp_path):
    path = tmp_path / "rain.csv"
    rng = np.random.default_rng(0)
    p = rng.random(200).round(3)
    labels = (rng.random(200) < p).astype(int)
    frame = {"day": range(200), "outcome": labels, "prob_rain": p, "sample_weight": [2] * 200}
    pl.DataFrame(frame).write_csv(path)
    return path


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_says_what_it_read(command, rain, tmp_path):
    result = run(*words(command, rain, tmp_path), *QUICK)
    assert result.exit_code == 0, result.output
    assert result.stdout.endswith(
        "Read labels from 'outcome', P(rain) from 'prob_rain' and weights from 'sample_weight'."
        " Left out:\n'day'.\n"
    )
    found = json.loads(run(*words(command, rain, tmp_path), *QUICK, "--json").stdout)
    read = found["readings"]["rain"] if command == "report" else found["reading"]
    assert (read["label"], read["probs"], read["event"]) == ("outcome", ["prob_rain"], "rain")
    assert (read["weight"], read["left_out"]) == ("sample_weight", ["day"])


def test_compare_says_once_what_was_read_alike(good, bad, rain):
    result = run("compare", good, bad, *QUICK)
    assert result.stdout.count("\nRead labels from 'label'") == 1
    found = json.loads(run("compare", good, bad, *QUICK, "--json").stdout)
    assert found["readings"]["bad"]["probs"] == ["prob_cat", "prob_dog", "prob_bird"]
    assert rain.exists()


@pytest.fixture
def long(tmp_path):
    """A file of two models; each has the rows of a file of its own."""
    frames = []
    for name, power in (("mild", 1.0), ("sure", 4.0)):
        frame = pl.read_csv(write(tmp_path / f"{name}.csv", power=power))
        frames.append(frame.insert_column(0, pl.Series("model", [name] * len(frame))))
    path = tmp_path / "long.csv"
    pl.concat(frames).write_csv(path)
    return path


def test_long_files_are_asked_about(long):
    result = run("evaluate", long, *QUICK)
    assert result.exit_code == 1
    assert "column 'model' names 'mild', 'sure'. Take each with --model, or" in result.stderr


def test_every_model_of_a_long_file(long, tmp_path):
    result = run("evaluate", long, "--model", "model", *QUICK)
    assert result.exit_code == 0, result.output
    for name in ("mild", "sure"):
        assert f"{long}, {name}: 300 rows, 3 classes" in result.stdout
    found = json.loads(run("evaluate", long, "--model", "model", "--json", *QUICK).stdout)
    for name in ("mild", "sure"):
        alone = json.loads(run("evaluate", tmp_path / f"{name}.csv", "--json", *QUICK).stdout)
        assert found["models"][name]["rows"] == alone["rows"]
        assert found["models"][name]["scores"] == alone["scores"]
    chosen = json.loads(run("evaluate", long, "--model", "model=sure", "--json", *QUICK).stdout)
    assert chosen["rows"] == found["models"]["sure"]["rows"]


def test_models_of_a_long_file_are_compared(long, tmp_path):
    files = [tmp_path / "mild.csv", tmp_path / "sure.csv"]
    both = json.loads(run("compare", *files, "--json", *QUICK).stdout)
    found = json.loads(run("compare", long, "--model", "model", "--json", *QUICK).stdout)
    assert found["models"] == both["models"]
    assert found["differences"] == both["differences"]
    output = tmp_path / "r.html"
    assert run("report", long, "--model", "model", "-o", output, *QUICK).exit_code == 0
    assert "sure" in output.read_text("utf-8")


def test_commands_of_one_model_want_one(long, tmp_path):
    full = words("test", long, tmp_path)
    result = run(*full, "--model", "model", *QUICK)
    assert result.exit_code == 2
    assert "must choose one of 2 models, such as" in " ".join(result.stderr.split())
    assert run(*full, "--model", "model=sure", *QUICK).exit_code == 0


def test_files_are_joined(good, bad, tmp_path):
    key = pl.Series("key", range(300))
    frame = pl.read_csv(bad).insert_column(0, key)
    paths = [tmp_path / "a.csv", tmp_path / "b.csv"]
    pl.read_csv(good).insert_column(0, key).write_csv(paths[0])
    frame.sample(fraction=1, shuffle=True, seed=0).write_csv(paths[1])
    clean = json.loads(run("compare", good, bad, "--json", *QUICK).stdout)
    found = json.loads(run("compare", *paths, "--id", "key", "--json", *QUICK).stdout)
    assert found["models"]["b"]["rows"] == clean["models"]["bad"]["rows"]
    strip = [{k: v for k, v in d.items() if k not in ("first", "second", "worse", "sentence")}
             for d in clean["differences"]]  # fmt: skip
    for difference, expected in zip(found["differences"], strip, strict=True):
        assert {key: difference[key] for key in expected} == expected


def test_the_share_that_is_right(tmp_path):
    path = tmp_path / "answers.csv"
    path.write_text("question,confidence,correct\na,0.25,1\nb,0.5,1\nc,0.75,0\nd,0.5,1\n")
    result = run("evaluate", path, *QUICK)
    assert "Share correct 0.7500" in result.stdout
    assert "accuracy" not in result.stdout
    output = tmp_path / "r.html"
    assert run("report", path, "-o", output, *QUICK).exit_code == 0
    page = output.read_text("utf-8")
    assert "Share correct" in page
    assert '<span class="soft">Accuracy' not in page


def test_rounded_values(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("y,a,b,c\na,0.33,0.33,0.33\nb,0.5,0.25,0.25\nc,0.25,0.25,0.5\n")
    result = run("evaluate", path, *QUICK)
    assert result.exit_code == 1
    assert "Were they rounded? Then say so with --normalize." in result.stderr
    assert run("evaluate", path, "--normalize", *QUICK).exit_code == 0
    both = run("evaluate", path, "--normalize", "--logits", *QUICK)
    assert both.exit_code == 2
    assert "must not be given with --logits" in both.stderr


def test_columns_are_left_out(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("y,p,weight,id\n1,0.5,80,7\n0,0.25,70,7\n")
    assert run("evaluate", path, *QUICK).exit_code == 1
    result = run("evaluate", path, "--ignore", "id, weight", *QUICK)
    assert result.stdout.endswith("Left out: 'weight' and 'id'.\n")


def test_standard_input(good):
    with good.open() as file:
        result = run_process("test", "-", *QUICK, "--json", stdin=file)
    assert result.returncode == 0, result.stderr
    expected = json.loads(run("test", good, *QUICK, "--json").stdout)
    found = json.loads(result.stdout)
    assert (found["file"], found["rows"]) == ("-", expected["rows"])


def test_a_panic_of_a_reader_is_one_sentence(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text('label,prob_a,prob_b\na,0.75,0.25\nb,0.25,0.75\n"')
    result = run_process("evaluate", path, *QUICK)
    assert result.returncode == 1
    assert result.stderr == (
        f"calibrant: {path}: a quote that is opened must be closed; look at line 4 (unexpected end"
        " of data).\n"
    )
