"""LeNet, ResNet and DenseNet for ten classes and images of 32 by 32 pixels."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn import functional


class LeNet(nn.Sequential):
    """LeNet-5 (LeCun et al. 1998) with rectifiers, max pooling and a linear last layer."""

    def __init__(self, channels: int = 3) -> None:
        super().__init__(
            nn.Conv2d(channels, 6, 5),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(6, 16, 5),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Flatten(),
            nn.Linear(16 * 5 * 5, 120),
            nn.ReLU(),
            nn.Linear(120, 84),
            nn.ReLU(),
            nn.Linear(84, 10),
        )


class ResidualBlock(nn.Module):
    """Two 3x3 convolutions beside a shortcut without parameters (option A of He et al.)."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.stride = outputs // inputs
        self.extra = outputs - inputs
        self.conv1 = nn.Conv2d(inputs, outputs, 3, self.stride, padding=1, bias=False)
        self.norm1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, padding=1, bias=False)
        self.norm2 = nn.BatchNorm2d(outputs)

    def forward(self, x: Tensor) -> Tensor:
        """Add the shortcut, subsampled and padded with zero channels, to the residual."""
        residual = functional.relu(self.norm1(self.conv1(x)))
        residual = self.norm2(self.conv2(residual))
        if self.extra:
            x = x[:, :, :: self.stride, :: self.stride]
            x = functional.pad(x, (0, 0, 0, 0, self.extra // 2, self.extra - self.extra // 2))
        return functional.relu(residual + x)


def resnet(blocks: int = 9, width: int = 16) -> nn.Sequential:
    """Build the ResNet of 6 * `blocks` + 2 layers for CIFAR-10 (He et al. 2016, section 4.2).

    The first of the three stages has `width` channels; in the original it is 16.
    """
    stages = [width] * blocks + [2 * width] * blocks + [4 * width] * blocks
    network = nn.Sequential(
        nn.Conv2d(3, width, 3, padding=1, bias=False),
        nn.BatchNorm2d(width),
        nn.ReLU(),
        *(ResidualBlock(a, b) for a, b in pairwise([width, *stages])),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(4 * width, 10),
    )
    return _he_initialised(network)


class DenseLayer(nn.Sequential):
    """Normalise, rectify, convolve 3x3; the result is appended to the input's channels."""

    def __init__(self, inputs: int, growth: int) -> None:
        super().__init__(
            nn.BatchNorm2d(inputs),
            nn.ReLU(),
            nn.Conv2d(inputs, growth, 3, padding=1, bias=False),
        )

    def forward(self, x: Tensor) -> Tensor:
        """Append `growth` new channels to `x`."""
        return torch.cat([x, super().forward(x)], dim=1)


class PooledConv(nn.Conv2d):
    """A 1x1 convolution, then the mean of every 2x2 pixels.

    Both are done as one 2x2 convolution with steps of 2, whose four weights are equal: the same
    numbers up to rounding, without the pooling, which is slow where channels are last in memory.
    """

    def forward(self, x: Tensor) -> Tensor:
        """Return as many channels as there are filters, at half the height and width."""
        return functional.conv2d(x, (self.weight / 4).expand(-1, -1, 2, 2), stride=2)


def densenet(layers: int = 12, growth: int = 12, channels: int = 16) -> nn.Sequential:
    """Build the plain DenseNet of 3 * `layers` + 4 layers for CIFAR-10 (Huang et al. 2017).

    The first convolution has `channels` outputs.
    """
    modules: list[nn.Module] = [nn.Conv2d(3, channels, 3, padding=1, bias=False)]
    for block in range(3):
        if block:
            modules += [
                nn.BatchNorm2d(channels),
                nn.ReLU(),
                PooledConv(channels, channels, 1, bias=False),
            ]
        modules += [DenseLayer(channels + i * growth, growth) for i in range(layers)]
        channels += layers * growth
    head = [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, 10)]
    return _he_initialised(
        nn.Sequential(*modules, nn.BatchNorm2d(channels), nn.ReLU(), *head),
    )


def _he_initialised(network: nn.Sequential) -> nn.Sequential:
    for module in network.modules():
        if isinstance(module, nn.Conv2d):
            nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
    return network


NETWORKS: dict[str, Callable[[], nn.Module]] = {
    "lenet": LeNet,
    "resnet": lambda: resnet(blocks=3, width=128),
    "densenet": lambda: densenet(layers=6, growth=64, channels=64),
}
