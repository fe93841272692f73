"""Logs that the real packages write: inspect_ai and lm-evaluation-harness.

Their models and tokenizers would be downloaded, so the packages write samples that are made here.
"""

import math

import numpy as np
import pytest

import calibrant as cal

pytestmark = pytest.mark.filterwarnings("ignore")  # those of the packages
CHANCES = (0.9, 0.7, 0.8, 0.6)


def answer(p):
    from inspect_ai import model

    tops = [model.TopLogprob(token=t, logprob=math.log(q)) for t, q in ((" A", p), ("B", 1 - p))]
    tokens = [model.Logprob(token="ANSWER: ", logprob=0.0)]
    tokens.append(model.Logprob(token=" A", logprob=math.log(p), top_logprobs=tops))
    message = model.ChatMessageAssistant(content="ANSWER: A")
    choice = model.ChatCompletionChoice(message=message, logprobs=model.Logprobs(content=tokens))
    return model.ModelOutput(model="mockllm/model", choices=[choice])


def written(path, samples):
    from inspect_ai import log

    spec = log.EvalSpec(
        created="2026-01-01T00:00:00+00:00",
        task="toy",
        dataset=log.EvalDataset(),
        model="mockllm/model",
        config=log.EvalConfig(),
    )
    log.write_eval_log(log.EvalLog(eval=spec, samples=samples, status="success"), str(path))
    return path


@pytest.mark.parametrize("ending", ["eval", "json"])
def test_inspect_ai_with_choices(tmp_path, ending):
    from inspect_ai.log import EvalSample
    from inspect_ai.scorer import Score

    samples = [
        EvalSample(
            id=i,
            epoch=1,
            input="q",
            choices=["yes", "no"],
            target="AB"[i % 2],
            output=answer(p),
            scores={"choice": Score(value="CI"[i % 2])},
        )
        for i, p in enumerate(CHANCES)
    ]
    ((name, data),) = cal.load_models([written(tmp_path / f"log.{ending}", samples)]).items()
    assert name == "mockllm/model: toy"
    assert data.probs[:, 0] == pytest.approx(CHANCES)
    assert data.labels.tolist() == [0, 1, 0, 1]


@pytest.mark.parametrize("ending", ["eval", "json"])
def test_inspect_ai_with_confidences(tmp_path, ending):
    from inspect_ai.log import EvalSample
    from inspect_ai.scorer import Score

    samples = [
        EvalSample(
            id=i,
            epoch=1,
            input="q",
            target="x",
            scores={"mine": Score(value="CI"[i % 2], metadata={"confidence": f"{90 - i} %"})},
        )
        for i in range(4)
    ]
    path = written(tmp_path / f"log.{ending}", samples)
    with pytest.raises(TypeError, match="column 'confidence' must hold numbers"):
        cal.load(path)
    data = cal.load(path, percent=True)
    assert data.probs[:, 1].tolist() == pytest.approx([0.9, 0.89, 0.88, 0.87])
    assert data.labels.tolist() == [1, 0, 1, 0]
    assert data.of_confidences


def test_lm_evaluation_harness(tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    from lm_eval.loggers import EvaluationTracker

    rng = np.random.default_rng(0)
    logs = -rng.exponential(3, (12, 3))
    samples = [
        {
            "doc_id": i,
            "doc": {"query": "q"},
            "target": i % 3,
            "arguments": [("q", " a"), ("q", " b"), ("q", " c")],
            "resps": [[(log, False)] for log in row],
            "filtered_resps": [(log, False) for log in row],
            "filter": "none",
            "metrics": ["acc"],
            "doc_hash": "x",
            "prompt_hash": "y",
            "target_hash": "z",
            "acc": float(row.argmax() == i % 3),
        }
        for i, row in enumerate(logs)
    ]
    tracker = EvaluationTracker(output_path=str(tmp_path))
    config = tracker.general_config_tracker
    config.model_name, config.model_name_sanitized = "me/dummy", "me__dummy"
    tracker.save_results_aggregated(results={}, samples={"toy": samples})
    tracker.save_results_samples("toy", samples)
    (path,) = tmp_path.rglob("samples_*.jsonl")
    ((name, data),) = cal.load_models([path]).items()
    assert name == "me/dummy: toy"
    assert data.labels.tolist() == [i % 3 for i in range(12)]
    mass = np.exp(logs)
    assert abs(data.probs - mass / mass.sum(axis=1, keepdims=True)).max() < 1e-12
