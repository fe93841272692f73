"""Logs that inspect_ai and lm-evaluation-harness write when they run, from end to end.

Models and tokenizers would be downloaded: here answers are made up, or weights are random.
"""

import json
import math

import numpy as np
import pytest

import calibrant as cal

pytestmark = pytest.mark.filterwarnings("ignore")  # those of the packages
CHANCES = (0.9, 0.7, 0.8, 0.6)
LETTERS = ("A", "B", "A", "B")  # the right ones
WORDS = ("is", "it", "even", "odd", "yes", "no", "maybe", "?", *map(str, range(30)))


def answer(p):
    """Return an answer with the log-probabilities of both letters."""
    from inspect_ai import model

    tops = [model.TopLogprob(token=t, logprob=math.log(q)) for t, q in ((" A", p), ("B", 1 - p))]
    tokens = [model.Logprob(token="ANSWER: ", logprob=0.0)]
    tokens.append(model.Logprob(token=" A", logprob=math.log(p), top_logprobs=tops))
    message = model.ChatMessageAssistant(content="ANSWER: A")
    choice = model.ChatCompletionChoice(message=message, logprobs=model.Logprobs(content=tokens))
    return model.ModelOutput(model="mockllm/model", choices=[choice])


def said(*texts):
    from inspect_ai.model import ModelOutput

    return [ModelOutput.from_content("mockllm/model", text) for text in texts]


@pytest.fixture
def inspected(tmp_path, monkeypatch):
    """Evaluate with inspect_ai, which counts tokens with an encoding that it would download."""
    import tiktoken
    from inspect_ai import Task, eval
    from inspect_ai.model import get_model

    ranks = {bytes([i]): i for i in range(256)}
    letters = tiktoken.Encoding("bytes", pat_str=".", mergeable_ranks=ranks, special_tokens={})
    monkeypatch.setattr(tiktoken, "get_encoding", lambda _: letters)

    def evaluated(ending, outputs, samples, solver, scorer, **how):
        model = get_model("mockllm/model", custom_outputs=outputs)
        task = Task(name="toy", dataset=samples, solver=solver, scorer=scorer)
        how |= {"log_dir": str(tmp_path), "log_format": ending, "max_samples": 1}
        (log,) = eval(task, model=model, display="none", **how)
        return log

    return evaluated


def letters(inspected, ending, **how):
    from inspect_ai.dataset import Sample
    from inspect_ai.scorer import choice
    from inspect_ai.solver import multiple_choice

    samples = [Sample(input="q", choices=["yes", "no"], target=one) for one in LETTERS]
    outputs = [answer(p) for p in CHANCES] * how.get("epochs", 1)
    return inspected(ending, outputs, samples, multiple_choice(), choice(), **how)


@pytest.mark.parametrize("ending", ["eval", "json"])
def test_inspect_ai_with_choices(inspected, ending):
    log = letters(inspected, ending)
    ((name, data),) = cal.load_models([log.location]).items()
    assert name == "mockllm/model: toy"
    assert data.probs[:, 0] == pytest.approx(CHANCES)
    assert data.labels.tolist() == [0, 1, 0, 1]
    assert cal.accuracy(data) == log.results.scores[0].metrics["accuracy"].value


def test_inspect_ai_with_epochs(inspected):
    log = letters(inspected, "eval", epochs=2)
    with pytest.raises(ValueError, match=r"asked, .* more than once\? Say so with `cluster`"):
        cal.load(log.location)
    data = cal.load(log.location, cluster="id")
    assert data.n == 8
    assert sorted(data.clusters.tolist()) == [0, 0, 1, 1, 2, 2, 3, 3]


@pytest.mark.parametrize("ending", ["eval", "json"])
def test_inspect_ai_with_confidences(inspected, ending):
    from inspect_ai.dataset import Sample
    from inspect_ai.scorer import Score, accuracy, scorer
    from inspect_ai.solver import generate

    @scorer(metrics=[accuracy()])
    def sure():
        async def score(state, target):
            if "refuse" in state.output.completion:
                raise ValueError("no answer")
            found, confidence = state.output.completion.split(", ")
            value = "C" if found == target.text else "I"
            return Score(value=value, metadata={"confidence": confidence})

        return score

    outputs = said("yes, 90 %", "no, 80 %", "I refuse", "yes, 70%")
    samples = [Sample(input="q", target="yes") for _ in outputs]
    log = inspected(ending, outputs, samples, generate(), sure(), fail_on_error=False)
    with pytest.raises(TypeError, match="column 'confidence' must hold numbers"):
        cal.load(log.location)
    with pytest.raises(ValueError, match=r"row 2 has none .* `drop_missing=True`"):
        cal.load(log.location, percent=True)
    data = cal.load(log.location, percent=True, drop_missing=True)
    assert data.probs[:, 1].tolist() == pytest.approx([0.9, 0.8, 0.7])
    assert data.labels.tolist() == [1, 0, 1]
    assert data.of_confidences
    assert data.reading.dropped_rows == ("row 2",)


@pytest.fixture
def model(tmp_path):
    """Save a transformer with random weights, and a tokenizer of a few words."""
    import torch
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

    known = {word: i for i, word in enumerate(("<unk>", "<end>", *WORDS))}
    tokenizer = Tokenizer(models.WordLevel(known, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, unk_token="<unk>", eos_token="<end>", pad_token="<end>"
    )
    sizes = {"n_positions": 32, "n_embd": 16, "n_layer": 1, "n_head": 2}
    sizes |= {"vocab_size": len(known), "bos_token_id": 1, "eos_token_id": 1}
    torch.manual_seed(0)
    config = GPT2Config(**sizes, initializer_range=0.5)
    for one in (fast, GPT2LMHeadModel(config)):
        one.save_pretrained(tmp_path / "tiny")
    return tmp_path / "tiny"


def test_lm_evaluation_harness(tmp_path, monkeypatch, model):
    for name in ("HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE", "TRANSFORMERS_OFFLINE"):
        monkeypatch.setenv(name, "1")
    import datasets
    import lm_eval
    from lm_eval.loggers import EvaluationTracker
    from lm_eval.tasks import TaskManager

    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", str(tmp_path / "cache"))
    choices = ["yes", "no", "maybe"]
    rows = [{"q": f"is it {i} ?", "c": choices[: 2 + i % 2], "y": i % 2} for i in range(30)]
    (tmp_path / "q.jsonl").write_text("\n".join(map(json.dumps, rows)))
    task = {"task": "toy", "dataset_path": "json", "test_split": "test"}
    task |= {"dataset_kwargs": {"data_files": {"test": str(tmp_path / "q.jsonl")}}}
    task |= {"output_type": "multiple_choice", "metric_list": [{"metric": "acc"}]}
    task |= {"doc_to_text": "{{q}}", "doc_to_target": "y", "doc_to_choice": "{{c}}"}
    tracker = EvaluationTracker(output_path=str(tmp_path / "results"))
    found = lm_eval.simple_evaluate(
        model="hf",
        model_args=f"pretrained={model},dtype=float32",
        tasks=[task],
        log_samples=True,
        bootstrap_iters=0,
        device="cpu",
        evaluation_tracker=tracker,
        task_manager=TaskManager(include_defaults=False),
    )
    samples = found.pop("samples")
    tracker.save_results_aggregated(results=found, samples=samples)
    tracker.save_results_samples("toy", samples["toy"])
    (path,) = tmp_path.rglob("samples_*.jsonl")
    ((name, data),) = cal.load_models([path]).items()
    assert name.endswith("tiny: toy")
    assert data.labels.tolist() == [i % 2 for i in range(30)]
    assert (data.probs[::2, 2] == 0).all()  # questions of two choices
    for row, sample in zip(data.probs, samples["toy"], strict=True):
        mass = np.exp([float(log) for log, _ in sample["filtered_resps"]])
        assert row[: mass.size] == pytest.approx(mass / mass.sum())
    assert np.unique(data.probs[:, 0]).size > 20  # the model says something else of each
    assert cal.accuracy(data) == pytest.approx(found["results"]["toy"]["acc,none"])
