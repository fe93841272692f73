"""How far predictions are off, in amounts that hold: sizes, biases, and their limits."""
