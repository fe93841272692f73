"""Logs that the real packages write: inspect_ai and lm-evaluation-harness."""

import json
import math
import os

import numpy as np
import pytest

import calibrant as cal
from calibrant.loading.language_models import title

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


@pytest.mark.parametrize("ending", ["eval", "json"])
def test_inspect_ai_with_choices(tmp_path, ending):
    from inspect_ai import Task, eval
    from inspect_ai.dataset import Sample
    from inspect_ai.model import get_model
    from inspect_ai.scorer import choice
    from inspect_ai.solver import multiple_choice

    samples = [
        Sample(input=f"q{i}", choices=["yes", "no"], target="AB"[i % 2]) for i in range(len(CHANCES))
    ]
    task = Task(dataset=samples, solver=multiple_choice(), scorer=choice(), name="toy")
    model = get_model("mockllm/model", custom_outputs=[answer(p) for p in CHANCES])
    how = {"log_format": ending, "log_dir": str(tmp_path), "display": "none", "max_samples": 1}
    (log,) = eval(task, model=model, **how)
    assert log.status == "success", log.error
    (path,) = tmp_path.glob(f"*.{ending}")
    (named,) = cal.load_models([path]).items()
    assert named[0] == "mockllm/model: toy"
    assert named[1].probs[:, 0] == pytest.approx(CHANCES)
    assert named[1].labels.tolist() == [0, 1, 0, 1]


@pytest.mark.parametrize("ending", ["eval", "json"])
def test_inspect_ai_with_confidences(tmp_path, ending):
    from inspect_ai import Task, eval
    from inspect_ai.dataset import Sample
    from inspect_ai.model import get_model
    from inspect_ai.scorer import Score, accuracy, scorer

    @scorer(metrics=[accuracy()])
    def sure():
        async def score(state, target):
            right = "C" if state.metadata["n"] % 3 else "I"
            return Score(value=right, metadata={"confidence": f"{90 - state.metadata['n']} %"})

        return score

    samples = [Sample(input=f"q{i}", target="x", metadata={"n": i}) for i in range(6)]
    task = Task(dataset=samples, scorer=sure(), name="open")
    how = {"log_format": ending, "log_dir": str(tmp_path), "display": "none"}
    (log,) = eval(task, model=get_model("mockllm/model"), **how)
    assert log.status == "success", log.error
    (path,) = tmp_path.glob(f"*.{ending}")
    with pytest.raises(ValueError, match="'90 %'|column 'confidence' must hold numbers"):
        cal.load(path)
    data = cal.load(path, percent=True)
    assert sorted(data.probs[:, 1].tolist()) == pytest.approx([0.85, 0.86, 0.87, 0.88, 0.89, 0.9])
    assert data.labels.sum() == 4
    assert data.of_confidences


def test_lm_evaluation_harness(tmp_path, monkeypatch):
    os.environ["HF_DATASETS_OFFLINE"] = os.environ["HF_HUB_OFFLINE"] = "1"
    monkeypatch.setenv("HF_HOME", str(tmp_path / "cache"))
    from lm_eval import evaluator
    from lm_eval.api.instance import Instance  # noqa: F401 (fails early if the package moved)
    from lm_eval.loggers import EvaluationTracker
    from lm_eval.models.dummy import DummyLM
    from lm_eval.tasks import TaskManager

    rows = [{"q": f"question {i}", "options": ["a", "b", "c"], "gold": i % 3} for i in range(12)]
    (tmp_path / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (tmp_path / "toy.yaml").write_text(
        "task: toy_choices\n"
        "dataset_path: json\n"
        f"dataset_kwargs:\n  data_files:\n    test: {tmp_path / 'rows.jsonl'}\n"
        "test_split: test\noutput_type: multiple_choice\n"
        'doc_to_text: "{{q}}"\ndoc_to_choice: "{{options}}"\ndoc_to_target: gold\n'
        "metric_list:\n  - metric: acc\n"
    )
    model = DummyLM()
    found = evaluator.simple_evaluate(
        model,
        tasks=["toy_choices"],
        task_manager=TaskManager(include_path=str(tmp_path), include_defaults=False),
        log_samples=True,
        bootstrap_iters=0,
    )
    tracker = EvaluationTracker(output_path=str(tmp_path / "results"))
    config = tracker.general_config_tracker
    config.model_name, config.model_name_sanitized = "me/dummy", "me__dummy"
    samples = found.pop("samples")
    logs = {
        sample["doc_id"]: [one[0] for one in sample["filtered_resps"]]
        for sample in samples["toy_choices"]
    }
    tracker.save_results_aggregated(results=found, samples=samples)
    tracker.save_results_samples("toy_choices", samples["toy_choices"])
    (path,) = (tmp_path / "results").rglob("samples_*.jsonl")
    assert title(path) == "me/dummy: toy_choices"
    ((name, data),) = cal.load_models([path]).items()
    assert name == "me/dummy: toy_choices"
    assert data.labels.tolist() == [i % 3 for i in range(12)]
    for row, doc in enumerate(sorted(logs)):
        mass = np.exp(logs[doc] - np.max(logs[doc]))
        assert data.probs[row] == pytest.approx(mass / mass.sum())
