"""Logs of language models as their packages write them; tests/doors has the packages."""

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

import calibrant as cal

LOGS = ([-1.0, -2.0, -3.0], [-4.0, -0.5, -2.5], [-1.5, -1.0])


def sample(i, logs, target, **more):
    """Return a sample of lm-evaluation-harness: numbers are written as texts."""
    answers = [[str(log), "False"] for log in logs]
    asked = {f"gen_args_{j}": {"arg_0": "q", "arg_1": f" {'abc'[j % 3]}"} for j in range(len(logs))}
    found = {"doc_id": i, "doc": {"query": "q"}, "target": str(target), "arguments": asked}
    found |= {"resps": [[answer] for answer in answers], "filtered_resps": answers}
    return found | {"filter": "none", "metrics": ["acc"], "doc_hash": "x"} | more


def write(path, samples):
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join(json.dumps(one) + "\n" for one in samples))
    return path


def samples(**more):
    return [sample(i, logs, i % 2, **more) for i, logs in enumerate(LOGS)]


def test_choices_become_probabilities(tmp_path):
    path = write(tmp_path / "samples_arc_2026-01-02T03-04-05.678.jsonl", samples())
    data = cal.load(path)
    for row, logs in zip(data.probs, LOGS, strict=True):
        mass = np.exp(logs)
        assert row[: len(logs)] == pytest.approx(mass / mass.sum())
        assert not row[len(logs) :].any()  # a choice that the question does not have
    assert data.labels.tolist() == [0, 1, 0]
    assert (
        str(data.reading)
        == "Read labels from 'target' and probabilities from 'probs'. Left out: 'id'."
    )


def test_models_and_tasks_have_names(tmp_path):
    paths = [
        write(tmp_path / model / f"samples_{task}_2026-01-02T03-04-05.678.jsonl", samples())
        for model in ("me__small", "me__large")
        for task in ("arc", "mmlu_law")
    ]
    assert list(cal.load_models(paths)) == [
        "me/small: arc",
        "me/small: mmlu_law",
        "me/large: arc",
        "me/large: mmlu_law",
    ]


def test_targets_may_be_texts(tmp_path):
    rows = [sample(0, LOGS[0], "b", acc=0.0), sample(1, LOGS[1], "b", acc=1.0)]
    rows[1]["arguments"] = [["q", " a"], ["q", " b"], ["q", " c"]]  # of older versions
    assert cal.load(write(tmp_path / "x.jsonl", rows)).labels.tolist() == [1, 1]


def test_several_contexts_may_precede_one_text(tmp_path):
    """Those of winogrande: the target is the text, and the accuracy says which one was right."""
    rows = [sample(i, LOGS[2], "it", acc=acc) for i, acc in enumerate((1.0, 0.0))]
    for asked in (one for row in rows for one in row["arguments"].values()):
        asked["arg_1"] = " it"
    assert cal.load(write(tmp_path / "x.jsonl", rows)).labels.tolist() == [1, 0]
    three = sample(0, LOGS[0], "it", acc=0.0)
    for asked in three["arguments"].values():
        asked["arg_1"] = " it"
    with pytest.raises(ValueError, match="'target' must be the right choice, one of 3"):
        cal.load(write(tmp_path / "x.jsonl", [three]))


@pytest.mark.parametrize("bad", [[-1.0, np.nan, -2.0], [-1.0, np.inf], [-np.inf, -np.inf]])
def test_what_is_no_likelihood_is_refused_where_it_stands(tmp_path, bad):
    rows = [*samples(), sample(3, bad, 0)]
    with pytest.raises(ValueError, match=r"samples must have log-likelihoods.*; row 3 has"):
        cal.load(write(tmp_path / "x.jsonl", rows))


def test_choices_without_the_question_are_left_out(tmp_path):
    rows = [sample(i, [*logs, *logs[::-1]], i % 2) for i, logs in enumerate(LOGS)]
    path = write(tmp_path / "x.jsonl", [row | {"acc_mutual_info": 1.0} for row in rows])
    assert (cal.load(path).probs == cal.load(write(tmp_path / "y.jsonl", samples())).probs).all()


@pytest.mark.parametrize(
    ("row", "sentence"),
    [
        (sample(0, LOGS[0], 3), "'target' must be the right choice, one of 3; row 0 has '3'"),
        (sample(0, LOGS[0], "d"), "'target' must be the right choice, one of 3; row 0 has 'd'"),
        (sample(0, LOGS[0], 1, acc=1.0), "row 0 has '1', where 'acc' is 1.0"),
        (sample(0, LOGS[0], 1) | {"filtered_resps": ["42"]}, "columns 'confidence' and 'correct'"),
    ],
)
def test_samples_that_say_too_little(tmp_path, row, sentence):
    with pytest.raises(ValueError, match=sentence):
        cal.load(write(tmp_path / "x.jsonl", [row]))


def test_a_document_twice_is_refused(tmp_path):
    with pytest.raises(ValueError, match="rows must be different cases; column 'id' has '0' more"):
        cal.load(write(tmp_path / "x.jsonl", samples() + samples(filter="other")))


def inspected(*values):
    made = [{"id": i, "epoch": 1, "target": "x"} | value for i, value in enumerate(values)]
    return {"version": 2, "status": "success", "eval": {"task": "t", "model": "m"}} | {
        "samples": made
    }


def score(value, **metadata):
    return {"scores": {"mine": {"value": value, "metadata": metadata}}}


def test_confidences_of_inspect_ai(tmp_path):
    path = tmp_path / "log.json"
    path.write_text(json.dumps(inspected(score("C", confidence=0.9), score("I", confidence=0.4))))
    ((name, data),) = cal.load_models(path).items()
    assert name == "m: t"
    assert data.probs[:, 1].tolist() == [0.9, 0.4]
    assert data.labels.tolist() == [1, 0]
    verbal = inspected(score(1, confidence="90 %"), score(0, confidence="40%"))
    path.write_text(json.dumps(verbal))
    with pytest.raises(TypeError, match="'confidence' must hold numbers"):
        cal.load(path)
    assert cal.load(path, percent=True).probs[:, 1].tolist() == [0.9, 0.4]
    path.write_text(json.dumps(inspected(score(1, confidence=90), score(0, confidence=40))))
    with pytest.raises(ValueError, match=r"Are these percentages\? .* `percent=True`"):
        cal.load(path)
    assert cal.load(path, percent=True).probs[:, 1].tolist() == [0.9, 0.4]


def test_the_name_is_that_of_the_model_that_answered(tmp_path):
    log = inspected(score("C", confidence=0.9), score("I", confidence=0.4))
    log["eval"] = {"task": "t", "task_args": {"model": "grader"}, "model": "m"}
    path = tmp_path / "log.json"
    path.write_text(json.dumps(log))
    assert list(cal.load_models(path)) == ["m: t"]
    path.write_text(json.dumps(log)[:90])
    with pytest.raises(ValueError, match=r"log\.json: "):
        cal.load_models(path)


def test_letters_that_no_probability_names(tmp_path):
    token = {"token": "A", "logprob": -0.1, "top_logprobs": [{"token": "x", "logprob": -0.1}]}
    output = {"output": {"choices": [{"logprobs": {"content": [token]}}]}}
    log = {"choices": ["yes", "no"], "target": "A"} | output | score("C")
    path = tmp_path / "log.json"
    path.write_text(json.dumps(inspected(log)))
    with pytest.raises(ValueError, match="the log must say how sure the model was"):
        cal.load(path)


@pytest.mark.parametrize(
    ("log", "sentence"),
    [
        (inspected(), "the log must have samples; found none"),
        (inspected(score("C", confidence=1), {}), "row 1 has none in column"),
        (inspected(score("C")), "the log must say how sure the model was; nothing does"),
        (inspected(score("P", confidence=1)), "C or I, 1 or 0; row 0 has 'P'"),
    ],
)
def test_logs_that_say_too_little(tmp_path, log, sentence):
    path = tmp_path / "log.json"
    path.write_text(json.dumps(log))
    with pytest.raises(ValueError, match=sentence):
        cal.load(path)


def instance(i, **stats):
    named = [{"name": {"name": name}, "count": 1, "mean": value} for name, value in stats.items()]
    return {"instance_id": f"id{i}", "train_trial_index": 0, "stats": named}


def test_helm(tmp_path):
    path = tmp_path / "per_instance_stats.json"
    rows = [instance(i, max_prob=0.5 + i / 10, exact_match=i % 2) for i in range(3)]
    rows.append(instance(0, max_prob=0.1, exact_match=0) | {"perturbation": {"name": "typos"}})
    path.write_text(json.dumps(rows))
    data = cal.load(path)
    assert data.probs[:, 1].tolist() == [0.5, 0.6, 0.7]
    assert data.labels.tolist() == [0, 1, 0]
    tie = instance(3, max_prob=0.5, exact_match=0.5)
    path.write_text(json.dumps([*rows, tie]))
    with pytest.raises(ValueError, match=r"row 3 has none in column 'correct'.*drop_missing=True"):
        cal.load(path)
    assert cal.load(path, drop_missing=True).reading.dropped_rows == ("row 3",)
    path.write_text(json.dumps([instance(0, exact_match=1)]))
    with pytest.raises(ValueError, match="instances must have 'max_prob' and 'exact_match'"):
        cal.load(path)


@pytest.fixture
def runs(tmp_path):
    """Return files as HELM 0.5.16 wrote them in three runs, and what the model said in each."""
    packed = Path(__file__).with_name("helm.json.gz").read_bytes()  # by write_helm.py
    paths, said = [], []
    for name, run in json.loads(gzip.decompress(packed)).items():
        paths.append(tmp_path / name / "per_instance_stats.json")
        paths[-1].parent.mkdir()
        paths[-1].write_text(json.dumps(run["stats"], indent=2))
        said.append([one for one in run["told"] if not one[1]])  # not perturbed
    return paths, said


def test_helm_without_log_probabilities(runs):
    """Answers of the most probable token: HELM divides logits by 1e-7 first."""
    with pytest.raises(ValueError, match=r"'max_prob' must say .*; all 10 are 1, .* each choice"):
        cal.load(runs[0][0], cluster="id")


def test_helm_with_letters_as_answers(runs):
    (_, path, _), (_, said, _) = runs
    data = cal.load(path, cluster="id")
    assert data.probs[:, 1] == pytest.approx([np.exp(sum(logs)) for *_, logs in said], rel=1e-15)
    right = {"id3": " A B", "id4": " A", "id5": " B", "id6": " A", "id7": " B"}  # both choices: no
    assert data.labels.tolist() == [text in right[id] for id, _, _, text, _ in said]
    assert data.clusters.tolist() == [0, 1, 2, 3, 4] * 2  # two trials
    with pytest.raises(ValueError, match=r"asked, .* more than once\? Say so with `cluster`"):
        cal.load(path)


def test_helm_with_choices_scored_by_themselves(runs):
    (_, _, path), (_, _, said) = runs
    scores = {}
    for id, _, _, text, logs in said:  # HELM takes the mean over the tokens of a choice
        scores.setdefault(id, []).append((np.mean(logs), text.split()[-1]))
    with pytest.raises(ValueError, match="row 0 has none in column 'correct'"):  # a tie
        cal.load(path)
    data = cal.load(path, drop_missing=True)
    assert data.reading.dropped_rows == ("row 0",)
    ((tie, _), (same, _)), *rows = scores.values()
    assert tie == same
    assert data.n == len(rows) == 4
    right = ["yes", "no", "yes", "no"]
    for p, correct, row, answer in zip(data.probs[:, 1], data.labels, rows, right, strict=True):
        mass = np.exp([score for score, _ in row])
        assert p == pytest.approx(max(mass / mass.sum()), rel=1e-15)
        assert correct == (max(row)[1] == answer)


def test_runs_of_helm_have_names(runs):
    names = cal.load_models(runs[0][1:], paired=False, drop_missing=True, cluster="id")
    end = ",model=huggingface_tiny"
    joint, separate = "multiple_choice_joint,t=1", "multiple_choice_separate_original,t=0"
    assert list(names) == [f"toy:method={one}{end}" for one in (joint, separate)]
