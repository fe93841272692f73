"""Recipes of the pages run as they stand, of at most ten lines each; the action does its work."""

import json
import logging
import os
import re
import subprocess

import lightning
import numpy as np
import pandas as pd
import pytest
import torch
import yaml
from places import ROOT
from test_training import Linear, hugging_face
from transformers import Trainer

import calibrant as cal

pytestmark = pytest.mark.filterwarnings("ignore")  # those of the packages
PAGES = ("files", "language-models", "pytorch", "scikit-learn", "tracking")
DATA = cal.datasets.dirichlet(2000, 3, temperature=1, rng=1)


def recipes(page):
    text = (ROOT / "docs" / f"{page}.md").read_text("utf-8")
    return re.findall(r"^```python\n(.*?)```", text, re.DOTALL | re.MULTILINE)


def recipe(page, word):
    (found,) = (one for one in recipes(page) if word in one)
    return found


@pytest.mark.parametrize("page", PAGES)
def test_recipes_have_at_most_ten_lines(page):
    assert recipes(page)
    for one in recipes(page):
        assert len([line for line in one.splitlines() if line.strip()]) <= 10


def test_the_metric(capsys):
    probs = torch.from_numpy(np.full((30, 10), 0.1))
    exec(recipe("pytorch", "CalibrationError"), {"batches": [(probs, torch.arange(30) % 10)] * 3})
    assert "expected" in capsys.readouterr().out


def test_lightning(capsys):
    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    data = torch.utils.data.TensorDataset(torch.randn(64, 5), torch.arange(64) % 2)
    loader = torch.utils.data.DataLoader(data, 32)
    quiet = {"logger": False, "enable_checkpointing": False, "enable_progress_bar": False}
    quiet |= {"enable_model_summary": False, "accelerator": "cpu"}
    names = {"lightning": lightning, "model": Linear(), "train": loader, "validation": loader}
    exec(recipe("pytorch", "calibrant.lightning"), {**names, "quiet": quiet})
    assert "log loss" in capsys.readouterr().out


def test_hugging_face(tmp_path, capsys):
    model, arguments, data = hugging_face(tmp_path)
    names = {"Trainer": Trainer, "model": model, "arguments": arguments, "data": data}
    exec(recipe("pytorch", "calibrant.transformers"), names)
    assert [row.step for row in names["calibration"].trajectory.rows] == [8, 16]
    assert "log loss" in capsys.readouterr().out


def test_language_models(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "results" / "me__model"
    folder.mkdir(parents=True)
    rows = [
        {"doc_id": i, "target": str(y), "resps": [], "filtered_resps": [[x, 0] for x in np.log(p)]}
        for i, (p, y) in enumerate(zip(DATA.probs[:99].tolist(), DATA.labels[:99], strict=True))
    ]
    text = "\n".join(map(json.dumps, rows))
    (folder / "samples_arc_easy_2026-01-02T03-04-05.jsonl").write_text(text)
    exec(recipe("language-models", "load_models"), {})
    assert capsys.readouterr().out.startswith("me/model: arc_easy No evidence")


def test_files(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rows = {"outcome": [1, 0, 1, 0, 1], "risk": ["70,5 %", "20 %", "n/a", "1,5 %", "99 %"]}
    pd.DataFrame(rows).to_excel("predictions.xlsx", index=False)
    exec(recipe("files", "xlsx"), {})
    printed = capsys.readouterr().out
    assert "percentages were divided by 100. Dropped 1 row with missing values: row 2" in printed


def test_frames(capsys):
    exec(recipe("files", "pandas"), {})
    printed = capsys.readouterr().out.splitlines()
    assert printed[:2] == printed[2:]
    assert printed[0].startswith("No evidence that the probabilities of “dog”")


def test_pytest():
    names = {"probs": DATA.probs, "labels": DATA.labels}
    exec(recipe("tracking", "assert_calibrated"), names)
    names["test_the_model_is_calibrated"]()


def test_mlflow(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    import mlflow

    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    mlflow.set_tracking_uri(f"file://{tmp_path}/runs")
    exec(recipe("tracking", "mlflow"), {"data": DATA})
    assert list((tmp_path / "runs").rglob("report.html"))
    assert list((tmp_path / "runs").rglob("calibration_size"))


def test_weights_and_biases(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WANDB_DIR", str(tmp_path))
    monkeypatch.setenv("WANDB_SILENT", "true")
    exec(recipe("tracking", "wandb.init"), {"data": DATA})
    assert list(tmp_path.rglob("*.wandb"))


def step(name, env, **how):
    steps = yaml.safe_load((ROOT / "action.yml").read_text())["runs"]["steps"]
    (one,) = (one for one in steps if one["name"] == name)
    assert set(one.get("env", ())) <= set(env)
    path = f"{ROOT / '.venv-doors' / 'bin'}:{ROOT / '.venv' / 'bin'}:{os.environ['PATH']}"
    return subprocess.run(
        ["bash", "-e", "-c", one["run"]],
        env={**os.environ, **env, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
        **how,
    )


def test_the_action_runs_the_gate_and_writes_the_report(tmp_path):
    rows = zip(DATA.labels.tolist(), DATA.probs.tolist(), strict=True)
    lines = [f"{y},{','.join(map(repr, p))}" for y, p in rows]
    (tmp_path / "my file.csv").write_text("label,prob_0,prob_1,prob_2\n" + "\n".join(lines))
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    env = {name.upper(): one.get("default", "") for name, one in action["inputs"].items()}
    env |= {"FILE": "my file.csv", "OPTIONS": "--resamples 99"}
    report = tmp_path / action["inputs"]["report"]["default"]
    for gate, code in ((env["GATE"], 0), ("--require-below 0.001", 3)):
        assert step("Report and test", {**env, "GATE": gate}, cwd=tmp_path).returncode == code
        report.unlink()  # it is there whether or not the gate is passed
    kept = [one for one in action["runs"]["steps"] if one.get("if") == "always()"]
    assert [one["name"] for one in kept] == ["Keep the report"]
