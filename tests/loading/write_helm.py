"""Write helm.json.gz: statistics that helm-run writes of a model which is trained here for seconds.

HELM takes 2 GB and pins packages that others need newer, so it has an environment of its own: pip
install torch==2.13.0 crfm-helm==0.5.16, and pip uninstall torchvision, which may be built for CUDA.
Then: python tests/loading/write_helm.py. No model is downloaded. HELM loads this file as a plugin.
"""

import gzip
import json
import os
import random
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import torch
from helm.benchmark.adaptation.common_adapter_specs import get_multiple_choice_adapter_spec
from helm.benchmark.augmentations.data_augmenter import DataAugmenterSpec
from helm.benchmark.augmentations.perturbation import PerturbationSpec
from helm.benchmark.metrics.common_metric_specs import get_exact_match_metric_specs
from helm.benchmark.metrics.metric import MetricSpec
from helm.benchmark.run_spec import RunSpec, run_spec_function
from helm.benchmark.scenarios import scenario
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

CHOICES = ("yes", "no", "perhaps")
OTHER = "helm.benchmark.metrics.gpqa_chain_of_thought_metric.GPQAChainOfThoughtMetric"
LOWER = "helm.benchmark.augmentations.lowercase_perturbation.LowerCasePerturbation"


def asked(i):
    """Return a question, and its choices: both the same where it is about 13."""
    return f"Is {i} even?", ("no", "no") if i == 13 else CHOICES[: 2 + i % 2]


class Toy(scenario.Scenario):
    name, description, tags = "toy", "Whether numbers are even.", ()

    def get_instances(self, _path):
        return [
            scenario.Instance(
                scenario.Input(asked(i)[0]),
                [
                    scenario.Reference(scenario.Output(one), [scenario.CORRECT_TAG] * (j == i % 2))
                    for j, one in enumerate(asked(i)[1])
                ],
                split=scenario.TRAIN_SPLIT if i < 13 else scenario.TEST_SPLIT,
            )
            for i in range(10, 18)
        ]


@run_spec_function("toy")
def toy(method, t):  # HELM itself takes away what is called temperature
    adapter = get_multiple_choice_adapter_spec(method, "", "Q", "A", max_train_instances=2)
    return RunSpec(
        name=f"toy:method={method},t={t}",
        scenario_spec=scenario.ScenarioSpec(f"{__name__}.Toy"),
        adapter_spec=replace(adapter, temperature=float(t)),
        metric_specs=[*get_exact_match_metric_specs(), MetricSpec(OTHER)],
        groups=[],
        data_augmenter_spec=DataAugmenterSpec(
            perturbation_specs=[PerturbationSpec(LOWER)],
            should_include_original_eval=True,
            should_augment_eval_instances=True,
        ),
    )


def example(draw):
    """Return a question and an answer, often a wrong one, as either adapter words it."""
    i = draw.randrange(10, 100)
    question, choices = asked(i)
    right = (i + (draw.random() < 0.3)) % 2
    if draw.random() < 0.5:
        return f"{question} {choices[right]}\n\n"
    lines = "".join(f"{letter}. {one}\n" for letter, one in zip("ABC", choices, strict=False))
    return f"Q: {question}\n{lines}A: {'ABC'[right]}\n\n"


def save_model(folder):
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    known = {token: i for i, token in enumerate(["<end>", *letters, "ĠA", "ĠB", "ĠC"])}
    tokenizer = Tokenizer(models.BPE(known, [("Ġ", letter) for letter in "ABC"]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    ends = dict.fromkeys(("eos_token", "bos_token", "pad_token"), "<end>")
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_max_length=256, **ends)
    torch.manual_seed(0)
    draw = random.Random(0)
    sizes = {"n_positions": 256, "n_embd": 48, "n_layer": 1, "n_head": 4, "vocab_size": len(known)}
    model = GPT2LMHeadModel(GPT2Config(**sizes, bos_token_id=0, eos_token_id=0))
    adam = torch.optim.AdamW(model.parameters(), 3e-3)
    for _ in range(120):
        texts = ["".join(example(draw) for _ in range(3)) for _ in range(16)]
        batch = fast(texts, return_tensors="pt", padding=True, truncation=True)
        labels = batch.input_ids.masked_fill(batch.attention_mask == 0, -100)
        adam.zero_grad()
        model(**batch, labels=labels).loss.backward()
        adam.step()
    for one in (fast, model):
        one.save_pretrained(folder)


def told(state):
    """Return what the model said of an instance: its id, trial, choice and log-probabilities."""
    said = state["result"]["completions"][0]
    logs = [token["logprob"] for token in said["tokens"]]
    place = state.get("reference_index")
    if place is not None:  # of the choice alone; its tokens are letters and the space before it
        logs = logs[-len(state["instance"]["references"][place]["output"]["text"]) - 1 :]
    mark = "perturbation" in state["instance"]
    return [state["instance"]["id"], mark, state["train_trial_index"], said["text"][-12:], logs]


def main():
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        save_model(f"{folder}/tiny")
        methods = {"multiple_choice_joint": (0, 1), "multiple_choice_separate_original": (0,)}
        entries = [f"toy:method={one},t={t}" for one, ts in methods.items() for t in ts]
        command = [Path(sys.executable).parent / "helm-run", "--plugins", Path(__file__).resolve()]
        command += ["--enable-local-huggingface-models", f"{folder}/tiny", "--disable-cache"]
        command += ["--models-to-run", "huggingface/tiny", "--run-entries", *entries]
        command += ["-m", "5", "-t", "2", "-n", "1", "-o", f"{folder}/out", "--suite", "toy"]
        offline = dict.fromkeys(("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"), "1")
        subprocess.run(command, cwd=folder, env=os.environ | offline, check=True)
        for run in sorted(Path(folder, "out/runs/toy").glob("toy:*")):
            states = json.loads((run / "scenario_state.json").read_text())["request_states"]
            stats = json.loads((run / "per_instance_stats.json").read_text())
            found[run.name] = {"stats": stats, "told": list(map(told, states))}
    packed = gzip.compress(json.dumps(found).encode(), mtime=0)
    Path(__file__).with_name("helm.json.gz").write_bytes(packed)


if __name__ == "__main__":
    main()
