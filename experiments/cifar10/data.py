"""CIFAR-10 from one npz file of JPEG images or from the public distribution's pickled batches."""

from __future__ import annotations

import io
import pickle
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image

Images = npt.NDArray[np.uint8]
Labels = npt.NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class ImageSet:
    """Images, uint8 (n, 32, 32, 3) in RGB, with their labels, uint8 (n,)."""

    images: Images
    labels: Labels

    def rows(self, chosen: npt.NDArray[np.bool_]) -> ImageSet:
        """Keep the rows where `chosen` (n,) is true."""
        return ImageSet(self.images[chosen], self.labels[chosen])


@dataclass(frozen=True, slots=True)
class Cifar10:
    """The 50,000 training images, the 10,000 test images and the ten class names."""

    train: ImageSet
    test: ImageSet
    classes: tuple[str, ...]

    def holdout(self) -> Cifar10:
        """Put every tenth training image in the place of the test set.

        For choosing settings: the test set is gone from what is returned.
        """
        held_out = np.arange(len(self.train.labels)) % 10 == 9
        return Cifar10(self.train.rows(~held_out), self.train.rows(held_out), self.classes)


def load(path: Path) -> Cifar10:
    """Read CIFAR-10 from `path`.

    Parameters
    ----------
    path
        Either a folder, the unpacked `cifar-10-batches-py` of the public distribution, or an npz
        file with the arrays `jpeg` (uint8, all JPEG files end to end), `offsets` (image i is
        `jpeg[offsets[i]:offsets[i + 1]]`), `labels`, `is_test` and `classes`.
    """
    return _load_batches(path) if path.is_dir() else _load_jpegs(path)


def _load_jpegs(path: Path) -> Cifar10:
    with np.load(path) as file:
        jpeg, offsets = file["jpeg"], file["offsets"]
        labels, is_test = file["labels"].astype(np.uint8), file["is_test"]
        classes = tuple(str(name) for name in file["classes"])
    images = np.stack([_decode(jpeg[start:stop]) for start, stop in pairwise(offsets)])
    everything = ImageSet(images, labels)
    return Cifar10(everything.rows(~is_test), everything.rows(is_test), classes)


def _decode(jpeg: npt.NDArray[np.uint8]) -> Images:
    with Image.open(io.BytesIO(jpeg.tobytes())) as image:
        return np.asarray(image.convert("RGB"))


def _load_batches(folder: Path) -> Cifar10:
    train = [_load_batch(folder / f"data_batch_{i}") for i in range(1, 6)]
    meta = _unpickle(folder / "batches.meta")
    return Cifar10(
        ImageSet(
            np.concatenate([batch.images for batch in train]),
            np.concatenate([batch.labels for batch in train]),
        ),
        _load_batch(folder / "test_batch"),
        tuple(name.decode() for name in meta[b"label_names"]),
    )


def _load_batch(path: Path) -> ImageSet:
    batch = _unpickle(path)
    planes = np.asarray(batch[b"data"], dtype=np.uint8).reshape(-1, 3, 32, 32)
    images = np.ascontiguousarray(planes.transpose(0, 2, 3, 1))
    return ImageSet(images, np.asarray(batch[b"labels"], dtype=np.uint8))


def _unpickle(path: Path) -> dict[bytes, Any]:
    with path.open("rb") as file:
        content: dict[bytes, Any] = pickle.load(file, encoding="bytes")
    return content
