"""Train LeNet on MNIST from several initialisations and record its validation predictions.

    python -m experiments.mnist.train --out experiments/mnist/results

The first 50,000 training images are trained on; the last 10,000 are the validation set. The test
set is not used. The training is plain on purpose (a constant learning rate, no weight decay, no
augmentation), so that the likelihood passes its optimum and the network overfits.
"""

from __future__ import annotations

import argparse
import csv
import json
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from ..cifar10.networks import LeNet
from .trajectory import Trajectory


@dataclass(frozen=True, slots=True)
class Settings:
    """Stochastic gradient descent with momentum, at a constant learning rate."""

    epochs: int = 40
    learning_rate: float = 0.01
    momentum: float = 0.9
    batch_size: int = 100
    n_train: int = 50_000

    @property
    def steps_per_epoch(self) -> int:
        """Number of batches in an epoch."""
        return self.n_train // self.batch_size

    def checkpoints(self) -> list[int]:
        """Steps after which predictions are recorded: finer where the network changes faster.

        Five times an epoch in the first two, twice an epoch up to the tenth, then after each.
        """
        epoch = self.steps_per_epoch
        fine = range(epoch // 5, 2 * epoch, epoch // 5)
        medium = range(2 * epoch, 10 * epoch, epoch // 2)
        coarse = range(10 * epoch, self.epochs * epoch + 1, epoch)
        return [step for step in (*fine, *medium, *coarse) if step <= self.epochs * epoch]


@dataclass(frozen=True, slots=True)
class Split:
    """Standardised images (n, 1, 32, 32) and labels (n,)."""

    images: Tensor
    labels: Tensor


def load(path: Path, n_train: int, device: torch.device) -> tuple[Split, Split]:
    """Read training and validation set from an npz with `x_train` (60000, 28, 28) and `y_train`.

    The images are padded to 32 by 32 pixels as in LeCun et al. (1998).
    """
    with np.load(path) as file:
        images = torch.from_numpy(file["x_train"]).to(device).float()
        labels = torch.from_numpy(file["y_train"].astype(np.int64)).to(device)
    std, mean = torch.std_mean(images[:n_train])
    images = ((functional.pad(images, (2, 2, 2, 2)) - mean) / std)[:, None]
    return Split(images[:n_train], labels[:n_train]), Split(images[n_train:], labels[n_train:])


def descend(
    network: nn.Module, settings: Settings, train: Split, seed: int
) -> Iterator[tuple[int, Tensor]]:
    """Train `network`; after each step yield the number of steps and the loss of the batch."""
    optimizer = torch.optim.SGD(
        network.parameters(), lr=settings.learning_rate, momentum=settings.momentum
    )
    device = train.labels.device
    shuffle = torch.Generator(device).manual_seed(seed)
    step = 0
    for _ in range(settings.epochs):
        order = torch.randperm(settings.n_train, generator=shuffle, device=device)
        for rows in order.split(settings.batch_size):
            loss = functional.cross_entropy(network(train.images[rows]), train.labels[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            step += 1
            yield step, loss.detach()


@torch.no_grad()
def predict(network: nn.Module, images: Tensor) -> Tensor:
    """Return the log-probabilities of `images` in float64 (n, 10), from float32 logits."""
    logits = torch.cat([network(part) for part in images.split(2000)])
    return logits.double().log_softmax(1)


def fit(
    settings: Settings, train: Split, validation: Split, seed: int
) -> tuple[Trajectory, list[dict[str, float]]]:
    """Train one network; return its validation predictions and a log with a row for each step."""
    torch.manual_seed(seed)
    network = LeNet(channels=1).to(train.images.device)
    steps, recorded, log = settings.checkpoints(), [], []
    losses: list[Tensor] = []
    start = time.perf_counter()
    for step, loss in descend(network, settings, train, seed):
        losses.append(loss)
        if step not in steps:
            continue
        log_probs = predict(network, validation.images)
        hits = log_probs.argmax(1) == validation.labels
        recorded.append(log_probs.exp().cpu().numpy())
        log.append(
            {
                "seed": seed,
                "step": step,
                "epoch": step / settings.steps_per_epoch,
                "train_loss": round(torch.stack(losses).mean().item(), 6),
                "validation_loss": round(
                    functional.nll_loss(log_probs, validation.labels).item(), 6
                ),
                "validation_accuracy": round(hits.double().mean().item(), 6),
                "seconds": round(time.perf_counter() - start, 3),
            }
        )
        losses.clear()
        print(" ".join(f"{key}={value:g}" for key, value in log[-1].items()), flush=True)
    labels = validation.labels.cpu().numpy()
    return Trajectory(np.array(steps), np.stack(recorded), labels), log


def main() -> None:
    """Read the command line, train one network per seed and save."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=Path("experiments/data/mnist.npz"))
    parser.add_argument("--out", type=Path, default=Path("experiments/mnist/results"))
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3, 4, 5])
    parser.add_argument("--epochs", type=int, default=Settings().epochs)
    parser.add_argument("--learning-rate", type=float, default=Settings().learning_rate)
    args = parser.parse_args()

    settings = Settings(epochs=args.epochs, learning_rate=args.learning_rate)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    torch.backends.cudnn.deterministic = True
    torch.backends.cudnn.allow_tf32 = False
    train, validation = load(args.data, settings.n_train, device)
    args.out.mkdir(parents=True, exist_ok=True)
    for seed in args.seeds:
        trajectory, log = fit(settings, train, validation, seed)
        trajectory.save(args.out / f"lenet{seed}.npz")
        with (args.out / f"lenet{seed}.csv").open("w", newline="") as file:
            writer = csv.DictWriter(file, list(log[0]), lineterminator="\n")
            writer.writeheader()
            writer.writerows(log)
    record = {
        "network": "lenet",
        **asdict(settings),
        "torch": torch.__version__,
        "device": torch.cuda.get_device_name() if device.type == "cuda" else "cpu",
    }
    (args.out / "settings.json").write_text(json.dumps(record, indent=2) + "\n")


if __name__ == "__main__":
    main()
