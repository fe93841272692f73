"""Write helm.json: statistics of instances by HELM's own scenario, metrics and dataclasses.

HELM pins packages that others need newer, so this runs in an environment of its own: pip install
--no-deps crfm-helm==0.5.16, and what it then asks for. Its models would be downloaded, so answers
are drawn. Question 0 is a tie, the last one is a perturbed copy, and there are two trials.
"""

import json
import random
import sys
from dataclasses import replace
from types import SimpleNamespace

from helm.benchmark.adaptation.adapter_spec import AdapterSpec
from helm.benchmark.adaptation.request_state import RequestState
from helm.benchmark.adaptation.scenario_state import ScenarioState
from helm.benchmark.augmentations.typos_perturbation import TyposPerturbation
from helm.benchmark.metrics import basic_metrics
from helm.benchmark.runner import remove_per_instance_stats_nans
from helm.benchmark.scenarios.simple_scenarios import SimpleMCQAScenario
from helm.common.general import asdict_without_nones
from helm.common.request import GeneratedOutput, Request, RequestResult, Token

MODEL = {"model": "simple/model1", "model_deployment": "simple/model1"}
TRIALS = 2


def answered(instance, reference, trial, log):
    text = instance.references[reference].output.text
    said = GeneratedOutput(text=text, logprob=log, tokens=[Token(text=f" {text}", logprob=log)])
    return RequestState(
        instance=instance,
        reference_index=reference,
        request_mode="original",
        train_trial_index=trial,
        output_mapping=None,
        request=Request(prompt="q", **MODEL),
        result=RequestResult(success=True, embedding=[], completions=[said], cached=False),
        num_train_instances=0,
        prompt_truncated=False,
    )


def main(path):
    draw = random.Random(0)
    instances = [
        replace(one, id=f"id{i}") for i, one in enumerate(SimpleMCQAScenario().get_instances("."))
    ][:4]
    typos = TyposPerturbation(prob=0.1).description
    instances.append(replace(instances[0], perturbation=typos))
    states = [
        answered(one, j, trial, -1.0 if one is instances[0] else -draw.expovariate(0.5))
        for trial in range(TRIALS)
        for one in instances
        for j in range(len(one.references))
    ]
    window = SimpleNamespace(tokenize=str.split)
    basic_metrics.WindowServiceFactory.get_window_service = staticmethod(lambda *_: window)
    spec = AdapterSpec(method="multiple_choice_separate_original", num_train_trials=TRIALS, **MODEL)
    state = ScenarioState(adapter_spec=spec, request_states=states, annotator_specs=None)
    found = []
    metrics = (
        basic_metrics.BasicGenerationMetric(["exact_match"]),
        basic_metrics.BasicReferenceMetric(),
    )
    for metric in metrics:
        metric.efficiency_metric = SimpleNamespace(compute_efficiency_metrics=lambda *_: [])
        found += metric.evaluate(state, None, "cache", 1).per_instance_stats
    rows = map(asdict_without_nones, remove_per_instance_stats_nans(found))
    with open(path, "w") as file:  # HELM indents it
        json.dump(list(rows), file)


main(sys.argv[1])
