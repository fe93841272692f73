"""What each command does when all is well."""

import json
import re
from html import unescape

import pytest
from command import run, run_process, write

import calibrant as cal

PROVENANCE = re.compile(r"<pre[^>]*>(.*?)</pre>", re.DOTALL)
COLOUR = re.compile(r"\x1b\[")
QUICK = ("--resamples", "19")


def read(result):
    """Return the JSON of a result; NaN and infinities are refused."""
    assert result.exit_code == 0, result.output

    def refuse(name):
        raise AssertionError(f"{name} is no JSON")

    found = json.loads(result.stdout, parse_constant=refuse)
    assert found["schema"] == "calibrant/2"
    return found


def provenance(path):
    """Return the settings and numbers that a report was made from."""
    return json.loads(unescape(PROVENANCE.search(path.read_text("utf-8")).group(1)))


def test_evaluate(good):
    result = run("evaluate", good, "--resamples", "159")
    assert result.exit_code == 0
    assert f"{good}: 300 rows, 3 classes" in result.stdout.splitlines()
    assert "Brier score" in result.stdout
    assert "top label" in result.stdout
    assert result.stdout.startswith("No evidence that the full distributions")
    assert all(line == line.rstrip() for line in result.stdout.splitlines())


def test_evaluate_says_that_nothing_could_be_rejected(bad):
    result = run("evaluate", bad, "--resamples", "18")
    assert " ".join(result.stdout.split()).startswith(
        "Cannot tell with 18 resamples whether the full distributions over all 3 classes are"
        " calibrated: at least 19 resamples are needed to reject calibration at 5 %; how far off"
    )


def test_evaluate_a_grid_of_ones_own(good):
    words = "--lens class:dog --lens top:2 --partition width:5 --partition tree:50:median"
    found = read(run("evaluate", good, *words.split(), "--distance", "squared", "--json", *QUICK))
    assert [(row["lens"], row["partition"], row["distance"]) for row in found["rows"]] == [
        (lens, partition, "squared euclidean")
        for lens in ("class dog", "top 2")
        for partition in ("5 equal widths", "tree of 50, median")
    ]


@pytest.mark.parametrize(
    ("words", "keys"),
    [
        (["evaluate", "GOOD"], {"file", "seed", "n_resamples", "scores", "verdicts", "rows"}),
        (["test", "GOOD"], {"file", "seed", "lens", "rejected", "pvalue", "size", "failed"}),
        (["compare", "GOOD", "BAD"], {"files", "seed", "models", "differences"}),
        (["plot", "GOOD", "-o", "OUT.svg"], {"file", "output", "seed", "lens", "series"}),
        (["recalibrate", "GOOD"], {"file", "rows", "recommended", "map", "settings"}),
        (["report", "GOOD", "-o", "OUT.html"], {"files", "output", "seed", "n_resamples"}),
        (["demo", "-o", "OUT.html"], {"output", "seed", "scores", "rows"}),
        (["datasets"], {"names"}),
        (["datasets", "lenet", "-o", "OUT.parquet"], {"name", "output"}),
    ],
)
def test_json(words, keys, good, bad, tmp_path):
    names = {"GOOD": str(good), "BAD": str(bad)}
    words = [names.get(word, word.replace("OUT", str(tmp_path / "out"))) for word in words]
    more = [] if words[0] == "datasets" else list(QUICK)
    found = read(run(*words, "--json", *more))
    assert found["command"] == words[0]
    assert keys <= set(found)


def test_json_has_null_for_an_infinite_score(tmp_path):
    path = tmp_path / "sure.csv"
    path.write_text("label,a,b\n" + "b,1.0,0.0\na,0.5,0.5\n" * 20)
    found = read(run("evaluate", path, "--json", *QUICK))
    assert found["scores"]["log_score"] is None


def test_test(good, bad):
    result = run("test", good, "--lens", "top", *QUICK)
    assert result.exit_code == 0
    assert result.stdout.startswith("No evidence that the probabilities of the predicted class")
    assert run("test", good, "--worst", *QUICK).exit_code == 0
    assert run("test", bad, *QUICK).exit_code == 0


def test_fail_below(good, bad):
    assert run("test", bad, "--fail-below", "0.01").exit_code == 3
    assert run("test", good, "--fail-below", "0.01").exit_code == 0
    rejected = run("test", bad, "--fail-below", "0.01", "--json")
    assert rejected.exit_code == 3
    assert json.loads(rejected.stdout)["rejected"] is True
    assert rejected.exit_code == len(json.loads(rejected.stdout)["failed"]) + 2


@pytest.mark.parametrize(
    ("words", "good_code", "bad_code"),
    [
        (["--fail-above", "0.1"], 0, 3),
        (["--fail-above", "0.5"], 0, 0),
        (["--require-below", "0.15"], 0, 3),
        (["--require-below", "0.001"], 3, 3),
    ],
)
def test_gates_by_size(words, good_code, bad_code, good, bad):
    how = ["--lens", "top", "--resamples", "99", *words]
    for file, code in ((good, good_code), (bad, bad_code)):
        result = run("test", file, *how)
        assert result.exit_code == code
        assert (f"Failed {words[0]}: " in result.stdout) == (code == 3)


@pytest.mark.parametrize("statistic", ["kernel", "kernel:0.2", "cox", "log", "squared:width:5"])
def test_statistics_by_name(statistic, good):
    found = read(run("test", good, "--lens", "top", "--statistic", statistic, "--json", *QUICK))
    assert len(found["rows"]) == 1
    both = run("test", good, "--statistic", statistic, "--partition", "width:3")
    assert both.exit_code == 2


def test_null_distributions_are_written_if_asked_for(good):
    found = read(run("test", good, "--json", "--null", *QUICK))
    assert {len(row["null"]) for row in found["rows"]} == {int(QUICK[-1])}


@pytest.mark.parametrize(
    ("limit", "resamples", "message"),
    [
        ("0.001", "999", "needs at least 1000 resamples: with 999 no p-value is below 0.001."),
        ("0.05", "19", "needs at least 20 resamples: with 19 no p-value is below 0.05."),
        ("0", "999", "must be greater than 0"),
    ],
)
def test_a_limit_that_no_pvalue_is_below(limit, resamples, message, tmp_path):
    result = run("test", tmp_path / "none.csv", "--fail-below", limit, "--resamples", resamples)
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.replace("│", " ").split())


def test_the_least_number_of_resamples_for_a_limit(bad):
    how = "--statistic", "log", "--fail-below", "0.001", "--resamples", "1000"
    assert run("test", bad, *how).exit_code == 3


def test_compare(good, bad):
    result = run("compare", good, bad, "--lens", "top", *QUICK)
    assert result.exit_code == 0
    assert result.stdout.startswith("The probabilities of the predicted class: bad is further off")


def test_compare_files_of_one_name_in_two_folders(good, tmp_path):
    other = write(tmp_path / "good.csv", power=2.0)
    found = read(run("compare", good, other, "--json", *QUICK))
    assert list(found["models"]) == [str(good), str(other)]


def test_compare_different_rows(good, tmp_path):
    other = write(tmp_path / "other.csv", n=200, seed=1)
    assert run("compare", good, other, *QUICK).exit_code == 1
    found = read(run("compare", good, other, "--unpaired", "--json", *QUICK))
    assert len(found["differences"]) == 2


@pytest.mark.parametrize("ending", ["png", "svg", "pdf", "html"])
@pytest.mark.parametrize("lens", ["top", "canonical"])
def test_plot(good, tmp_path, ending, lens):
    output = tmp_path / f"a diagram.{ending}"
    result = run("plot", good, "-o", output, "--lens", lens, *QUICK)
    assert result.exit_code == 0, result.output
    assert output.stat().st_size > 1000
    assert list(tmp_path.iterdir()) == [output]


@pytest.mark.parametrize("ending", [".svg", ".html"])
@pytest.mark.parametrize("kind", ["smooth", "cumulative", "isotonic"])
def test_plot_curves(good, bad, tmp_path, kind, ending):
    output = tmp_path / f"d{ending}"
    found = read(run("plot", good, "--kind", kind, "-o", output, "--json", *QUICK))
    assert kind in found["kind"]
    assert found["lens"] == "top label"
    assert len(found["series"][0]["x"]) == len(found["series"][0]["whole_upper"])
    assert output.stat().st_size > 1000
    both = read(run("plot", good, bad, "--kind", kind, "-o", output, "--json", *QUICK))
    assert both["files"] == [str(good), str(bad)]
    assert [series["name"] for series in both["series"]] == [good.stem, bad.stem]


def test_plot_shows_the_event_of_two_classes(tmp_path):
    rows = ["label,prob", *(f"{i % 2},{0.1 + 0.2 * (i % 3)}" for i in range(60))]
    file = tmp_path / "two.csv"
    file.write_text("\n".join(rows))
    found = read(run("plot", file, "-o", tmp_path / "d.svg", "--json", *QUICK))
    assert (found["lens"], found["event"]) == ("canonical", 1)


def test_plot_lays_models_over_each_other(good, bad, tmp_path):
    output = tmp_path / "d.svg"
    result = run("plot", good, bad, "-o", output, *QUICK)
    assert result.exit_code == 0
    assert good.stem in output.read_text("utf-8")
    words = ("plot", good, bad, "--lens", "canonical", "-o", output, *QUICK)
    assert "Models can share a picture only if there are two outcomes" in run(*words).output


def test_plot_a_confidence_band(good, tmp_path):
    output = tmp_path / "d.svg"
    words = ("plot", good, "--kind", "isotonic", "--confidence", "-o", output)
    assert run(*words, *QUICK).exit_code == 0
    assert "% confidence band (whole curve)" in output.read_text("utf-8")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--kind", "smooth", "--regions"], "is for --kind bins; found --kind smooth."),
        (["--kind", "isotonic", "--partition", "width:5"], "is for --kind bins"),
        (["--confidence"], "is for --kind isotonic; found --kind bins."),
        (["--kind", "smooth", "--style", "bars"], "is for --kind bins; found --kind smooth."),
        (["--kind", "classes", "--lens", "top"], "is not for --kind classes, which shows every"),
        (["--style", "bars", "--regions"], "is for two outcomes, --regions for three"),
    ],
)
def test_options_of_another_kind_are_refused(good, tmp_path, words, sentence):
    result = run("plot", good, "-o", tmp_path / "d.svg", *words)
    assert result.exit_code == 2
    assert sentence in " ".join(result.output.replace("│", " ").split())


def test_a_plotted_page_is_small_and_asks_for_nothing(good, tmp_path):
    run("plot", good, "-o", tmp_path / "d.html", *QUICK)
    page = (tmp_path / "d.html").read_text("utf-8")
    assert "default-src 'none'" in page
    assert len(page) < 50_000


def test_plot_compares_classes(good, bad, tmp_path):
    output = tmp_path / "classes.png"
    words = ("plot", good, "--kind", "classes", "-o", output, *QUICK)
    wanted = cal.class_diagram(cal.load(good), n_resamples=19, rng=0)
    result = run(*words, "--table")
    assert result.exit_code == 0, result.output
    assert "class" in result.stdout.split("Numbers")[1].split("confidence")[0]
    assert wanted.lines()[1][0][0] in result.stdout
    assert output.stat().st_size > 1000
    found = read(run(*words, "--json"))
    assert found["classes"][0]["deviation"] == wanted.records()[0]["deviation"]
    assert "classes shows one model; found 2" in run(*words[:2], bad, *words[2:]).output


def test_plot_ways_to_draw(good, tmp_path):
    output = tmp_path / "d.png"
    result = run("plot", good, "-o", output, "--lens", "top", "--table", *QUICK)
    assert result.exit_code == 0
    assert "accuracy − confidence" in result.stdout
    result = run("plot", good, "-o", output, "--kind", "isotonic", "--table", *QUICK)
    assert "consistency band" in result.stdout
    for style in ("bars", "line"):
        page = tmp_path / f"{style}.html"
        assert run("plot", good, "-o", page, "--style", style, *QUICK).exit_code == 0
        bins = {"bars": 15, "line": 10}[style]
        error = cal.ece(cal.load(good), bins=bins)
        assert f"ECE {error:.3f} ({bins} bins)" in page.read_text("utf-8")
    words = ("--lens", "canonical", "--regions", "--partition", "simplex:3")
    assert run("plot", good, "-o", output, *words, *QUICK).exit_code == 0


def test_report_of_files_with_spaces(good, tmp_path):
    path = write(tmp_path / "my model, version 2.csv", power=2.0)
    output = tmp_path / "my report.html"
    result = run("report", path, good, "-o", output, "--groups", "cat|dog|bird", *QUICK)
    assert result.exit_code == 0, result.output
    first = (
        "The full distributions over all 3 classes: my model, version 2 is further off than good"
    )
    assert result.stdout.startswith(first)
    assert f"\nWritten to {output}: open it in a browser.\nRead labels from" in result.stdout
    assert result.stdout.count("Read ") == 1  # both were read alike
    assert "Calibration of my model, version 2, good" in output.read_text("utf-8")


def test_a_report_has_the_numbers_of_evaluate(good, tmp_path):
    run("report", good, "-o", tmp_path / "r.html", *QUICK)
    (model,) = provenance(tmp_path / "r.html")["models"]
    same_tests(model["evaluation"], read(run("evaluate", good, "--json", *QUICK))["rows"])


def same_tests(page, alone):
    """On a page p-values are adjusted for more tests; the rest is the same."""
    for row, expected in zip(page, alone, strict=True):
        assert row.pop("adjusted_pvalue") >= expected.pop("adjusted_pvalue")
        assert row == expected


def test_a_report_has_the_numbers_of_compare(good, bad, tmp_path):
    run("report", good, bad, "-o", tmp_path / "r.html", *QUICK)
    found = read(run("compare", good, bad, "--json", *QUICK))
    for model in provenance(tmp_path / "r.html")["models"]:
        same_tests(model["evaluation"], found["models"][model["name"]]["rows"])


def test_the_same_report_twice(good, tmp_path):
    for name in ("a", "b"):
        run("report", good, "-o", tmp_path / f"{name}.html", *QUICK)
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()


def test_demo_in_an_empty_folder(tmp_path):
    result = run_process("demo", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["calibrant-report.html"]
    assert "A ResNet on CIFAR-10: 10,000 rows, 10 classes" in result.stdout
    assert result.stdout.startswith("The full distributions over all 10 classes are miscalibrated")
    assert len(result.stdout.splitlines()) <= 60
    assert max(map(len, result.stdout.splitlines())) <= 100
    assert "The model is overconfident, by " in result.stdout
    assert result.stderr == ""


def test_datasets_can_be_evaluated(tmp_path):
    output = tmp_path / "lenet.csv"
    assert run("datasets", "lenet", "-o", output).exit_code == 0
    found = read(run("evaluate", output, "--json", *QUICK))
    assert (found["n"], found["m"]) == (10_000, 10)


def test_datasets_need_a_name_to_write(tmp_path):
    result = run("datasets", "-o", tmp_path / "z.csv")
    assert result.exit_code == 2
    assert "needs the name of what to write" in " ".join(result.stderr.split())
    assert list(tmp_path.iterdir()) == []


def test_too_many_resamples(tmp_path):
    result = run("evaluate", tmp_path / "none.csv", "--resamples", 10**12)
    assert result.exit_code == 2
    assert "10000000" in result.stderr  # in whatever words click says it


@pytest.mark.parametrize("command", ["demo", "report", "plot"])
def test_a_folder_that_is_not_there_is_found_before_the_work(command, tmp_path, monkeypatch):
    def fail(*_, **__):
        raise AssertionError("the work has begun")

    monkeypatch.setattr("calibrant.datasets.cifar10", fail)
    monkeypatch.setattr("calibrant.loading.load", fail)
    file = [] if command == "demo" else [tmp_path / "f.csv"]
    result = run(command, *file, "-o", tmp_path / "none" / "x.html")
    assert result.exit_code == 1
    assert "none does not exist." in result.stderr


def test_a_region(good):
    whole = read(run("evaluate", good, "--json", *QUICK))
    part = read(run("evaluate", good, "--region", "dog > 0.1 and max < 0.9", "--json", *QUICK))
    assert 0 < part["n"] < whole["n"]


@pytest.mark.parametrize("command", ["evaluate", "test", "plot"])
def test_json_names_the_region(command, good, tmp_path):
    more = ("-o", tmp_path / "d.svg") if command == "plot" else ()
    found = read(run(command, good, *more, "--region", "dog > 0.1", "--json", *QUICK))
    assert found["region"] == "dog > 0.1"
    assert read(run(command, good, *more, "--json", *QUICK))["region"] is None


def test_the_title_names_the_region(good):
    result = run("evaluate", good, "--region", "dog > 0.1", *QUICK)
    assert " rows, 3 classes, only where dog > 0.1\n" in result.stdout


def test_a_report_names_the_region_and_the_file(good, tmp_path):
    output = tmp_path / "r.html"
    assert run("report", good, "--region", "dog > 0.1", "-o", output, *QUICK).exit_code == 0
    found = provenance(output)
    assert found["region"] == "dog > 0.1"
    assert [model["name"] for model in found["models"]] == ["good"]
    assert "Only rows where dog &gt; 0.1." in output.read_text("utf-8")


def test_one_row(tmp_path):
    path = tmp_path / "one.csv"
    path.write_text("label,a,b\nb,0.4,0.6\n")
    assert f"{path}: 1 row, 2 classes" in run("evaluate", path, *QUICK).stdout.splitlines()


def test_the_seed_decides(good):
    def null(seed):
        return read(run("test", good, "--seed", seed, "--json", "--null", *QUICK))["rows"]

    assert null(1) == null(1) != null(2)


def test_nothing_but_the_answer_is_written_into_a_pipe(good):
    result = run_process("evaluate", good, env={"TERM": "xterm-256color"})
    assert result.returncode == 0
    assert result.stderr == ""
    assert not COLOUR.search(result.stdout)


def test_a_terminal_without_signs_still_gets_its_table(good):
    result = run_process("evaluate", good, *QUICK, env={"PYTHONIOENCODING": "ascii"})
    assert result.returncode == 0, result.stderr
    assert "? 0.0" in result.stdout
