"""Training batches of CIFAR-10, augmented on the device."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from .data import ImageSet


class Batches:
    """Shuffled training batches, cropped, flipped and standardised on the device.

    Each image is padded with 4 black pixels on every side, a random 32 by 32 window is cut out of
    it and mirrored with probability one half.
    """

    def __init__(self, data: ImageSet, batch_size: int, device: torch.device, seed: int) -> None:
        images = torch.from_numpy(data.images).to(device)
        self.padded = functional.pad(images, (0, 0, 4, 4, 4, 4))  # (n, 40, 40, 3)
        self.labels = torch.from_numpy(data.labels).to(device).long()
        self.batch_size = batch_size
        self.standardise = Standardise(data, device)
        self.generator = torch.Generator(device).manual_seed(seed)

    def epoch(self) -> list[tuple[Tensor, Tensor]]:
        """Return row numbers and labels, in a new order, one pair per batch."""
        n = len(self.labels)
        order = torch.randperm(n, generator=self.generator, device=self.labels.device)
        return [(rows, self.labels[rows]) for rows in order.split(self.batch_size)]

    def augmented(self, rows: Tensor) -> Tensor:
        """Return the images `rows` (b,), each cropped and flipped at random: (b, 3, 32, 32)."""
        shift = self._integers(9, len(rows), 2)
        flip = self._integers(2, len(rows), 1)
        pixel = torch.arange(32, device=rows.device)
        y = shift[:, :1] + pixel
        x = shift[:, 1:] + torch.where(flip == 1, 31 - pixel, pixel)
        return self.standardise(self.padded[rows[:, None, None], y[:, :, None], x[:, None, :]])

    def _integers(self, below: int, *shape: int) -> Tensor:
        device = self.labels.device
        return torch.randint(below, shape, generator=self.generator, device=device)


class Standardise:
    """Subtract the training mean and divide by the training deviation, per colour."""

    def __init__(self, train: ImageSet, device: torch.device) -> None:
        pixels = train.images.reshape(-1, 3)
        self.mean = torch.tensor(pixels.mean(0), dtype=torch.float32, device=device)
        self.std = torch.tensor(pixels.std(0), dtype=torch.float32, device=device)

    def __call__(self, images: Tensor) -> Tensor:
        """Turn uint8 (n, 32, 32, 3) into float32 (n, 3, 32, 32), channels last in memory."""
        return ((images - self.mean) / self.std).permute(0, 3, 1, 2)
