"""Train one network on CIFAR-10 and keep its test-set probabilities, its log and its settings.

    python -m experiments.cifar10.train resnet --seed 1 --out experiments/cifar10/results

The network after the last epoch is the one kept; the test set serves the log alone. `--holdout`
leaves the test set out and tests on every tenth training image: for choosing settings.
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from .batches import Batches
from .data import Cifar10, load
from .networks import NETWORKS


@dataclass(frozen=True, slots=True)
class Settings:
    """Stochastic gradient descent with Nesterov momentum and weight decay.

    `learning_rate` is the highest; `schedule` names what it is multiplied by in the course of
    training.
    """

    epochs: int
    learning_rate: float
    schedule: Literal["two drops", "one cycle"]
    batch_size: int
    weight_decay: float
    momentum: float = 0.9

    def rate(self, progress: float) -> float:
        """Learning rate when the share `progress` of all steps has been made."""
        if self.schedule == "two drops":
            return self.learning_rate / 10 ** ((progress >= 0.5) + (progress >= 0.75))
        return self.learning_rate * min((progress + 0.01) / 0.26, (1 - progress) / 0.75)

    def rates(self, done: int, n_rows: int) -> list[float]:
        """Learning rate of each batch of the epoch after `done` epochs."""
        n_batches = math.ceil(n_rows / self.batch_size)
        return [self.rate((done + i / n_batches) / self.epochs) for i in range(n_batches)]


SETTINGS = {
    "lenet": Settings(100, 0.01, "two drops", batch_size=128, weight_decay=1e-4),
    "resnet": Settings(60, 0.4, "one cycle", batch_size=512, weight_decay=5e-4),
    "densenet": Settings(120, 0.4, "one cycle", batch_size=512, weight_decay=1e-3),
}


def train_epoch(
    network: nn.Module, optimizer: torch.optim.Optimizer, batches: Batches, rates: list[float]
) -> tuple[float, float]:
    """Pass once over the training set; return mean loss and accuracy as seen in passing.

    `rates` are the learning rates of the batches.
    """
    device = batches.labels.device
    network.train()
    total = torch.zeros(2, device=device, dtype=torch.float64)
    for (rows, labels), rate in zip(batches.epoch(), rates, strict=True):
        optimizer.param_groups[0]["lr"] = rate
        images = batches.augmented(rows)
        with torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"):
            logits = network(images)
        loss = functional.cross_entropy(logits.float(), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        hits = (logits.argmax(1) == labels).sum()
        total += torch.stack([loss.detach() * len(rows), hits])
    mean_loss, accuracy = (total / len(batches.labels)).tolist()
    return mean_loss, accuracy


@torch.no_grad()
def predict(network: nn.Module, images: Tensor, *, exact: bool) -> Tensor:
    """Return the logits of standardised `images` (n, 10), computed in float32 if `exact`."""
    network.eval()
    fast = images.is_cuda and not exact
    with torch.autocast(images.device.type, torch.bfloat16, enabled=fast):
        return torch.cat([network(part) for part in images.split(1000)])


def evaluate(logits: Tensor, labels: Tensor) -> tuple[float, float]:
    """Return the mean negative log-likelihood and the accuracy."""
    loss = functional.cross_entropy(logits.double(), labels)
    return loss.item(), (logits.argmax(1) == labels).double().mean().item()


def fit(
    network: nn.Module, settings: Settings, data: Cifar10, device: torch.device, seed: int
) -> tuple[Tensor, list[dict[str, float]]]:
    """Train `network`; return its test logits after the last epoch and one row per epoch."""
    network.to(device, memory_format=torch.channels_last)
    batches = Batches(data.train, settings.batch_size, device, seed)
    test_images = batches.standardise(torch.from_numpy(data.test.images).to(device))
    test_labels = torch.from_numpy(data.test.labels).to(device).long()
    optimizer = torch.optim.SGD(
        network.parameters(),
        lr=settings.learning_rate,
        momentum=settings.momentum,
        weight_decay=settings.weight_decay,
        nesterov=True,
    )
    log = []
    for done in range(settings.epochs):
        start = time.perf_counter()
        rates = settings.rates(done, len(data.train.labels))
        train_loss, train_accuracy = train_epoch(network, optimizer, batches, rates)
        logits = predict(network, test_images, exact=done + 1 == settings.epochs)
        test_loss, test_accuracy = evaluate(logits, test_labels)
        log.append(
            {
                "epoch": done + 1,
                "lr": round(rates[-1], 6),
                "train_loss": round(train_loss, 6),
                "train_accuracy": round(train_accuracy, 6),
                "test_loss": round(test_loss, 6),
                "test_accuracy": round(test_accuracy, 6),
                "seconds": round(time.perf_counter() - start, 3),
            }
        )
        print(" ".join(f"{key}={value:g}" for key, value in log[-1].items()), flush=True)
    return logits, log


def save(
    stem: Path,
    logits: Tensor,
    data: Cifar10,
    log: list[dict[str, float]],
    record: dict[str, object],
) -> None:
    """Write the probabilities (npz), the log (csv) and the settings (json)."""
    stem.parent.mkdir(parents=True, exist_ok=True)
    probs = logits.double().softmax(1).float().cpu().numpy()
    np.savez_compressed(
        stem.with_suffix(".npz"),
        probs=probs,
        labels=data.test.labels.astype(np.int32),
        classes=np.array(data.classes),
    )
    with stem.with_suffix(".csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(log[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(log)
    stem.with_suffix(".json").write_text(json.dumps(record, indent=2) + "\n")


def run(name: str, settings: Settings, data: Cifar10, seed: int, out: Path) -> None:
    """Train the network `name`, on a GPU where there is one, and save what it predicts."""
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    torch.backends.cudnn.deterministic = True
    torch.backends.cudnn.allow_tf32 = False
    torch.manual_seed(seed)
    network = NETWORKS[name]()
    logits, log = fit(network, settings, data, device, seed)
    record = {
        "network": name,
        "parameters": sum(p.numel() for p in network.parameters()),
        "seed": seed,
        "n_train": len(data.train.labels),
        **asdict(settings),
        "torch": torch.__version__,
        "device": torch.cuda.get_device_name() if device.type == "cuda" else "cpu",
        "seconds": round(sum(row["seconds"] for row in log), 1),
        "test_accuracy": log[-1]["test_accuracy"],
        "test_loss": log[-1]["test_loss"],
    }
    save(out / name, logits, data, log, record)


def main() -> None:
    """Read the command line, train and save."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("network", choices=sorted(NETWORKS))
    parser.add_argument("--data", type=Path, default=Path("experiments/data/cifar10.npz"))
    parser.add_argument("--out", type=Path, default=Path("experiments/cifar10/results"))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--epochs", type=int, help="instead of the number in SETTINGS")
    parser.add_argument("--learning-rate", type=float, help="instead of the number in SETTINGS")
    parser.add_argument("--holdout", action="store_true", help="test on 5,000 training images")
    args = parser.parse_args()

    given = {"epochs": args.epochs, "learning_rate": args.learning_rate}
    chosen = {key: value for key, value in given.items() if value is not None}
    settings = replace(SETTINGS[args.network], **chosen)
    data = load(args.data)
    if args.holdout:
        data = data.holdout()
    run(args.network, settings, data, args.seed, args.out)


if __name__ == "__main__":
    main()
