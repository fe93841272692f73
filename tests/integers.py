"""What the engine draws and adds up, in whole numbers and fractions of plain Python."""

from fractions import Fraction

MASK = 2**64 - 1
GOLDEN = 0x9E3779B97F4A7C15
ROWS = 0xD1B54A32D192ED03
ONE = 2**52


def mix(x):
    """The finalizer of splitmix64."""
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & MASK
    return x ^ (x >> 31)


def replicate_key(key, b):
    return mix((key + (b + 1) * GOLDEN) & MASK)


def row_key(key, i):
    return mix(((key ^ ROWS) + (i + 1) * GOLDEN) & MASK)


def uniform(key, b, i):
    """A whole number below 2^52 for replicate b and row i."""
    return mix((row_key(key, i) + replicate_key(key, b)) & MASK) >> 12


def thresholds(row):
    """Thresholds of all classes up to the last that can occur, which has none."""
    parts = [round(Fraction(p) * ONE) for p in row]  # half to even
    sums = [sum(parts[: j + 1]) for j in range(len(parts))]
    scale = float(ONE) / float(sums[-1])
    last = max(j for j, part in enumerate(parts) if part > 0)
    return [round(float(total) * scale) for total in sums[:last]]


def label(row, u):
    return sum(u >= cut for cut in thresholds(row))


def limbs(x):
    """Whole numbers of 2^-28, 2^-56 and 2^-84, each the nearest to what remains."""
    rest, found = Fraction(x), []
    for bits in (28, 56, 84):
        found.append(round(rest * 2**bits))
        rest -= Fraction(found[-1], 2**bits)
    return found


def worth(whole):
    """What limbs amount to."""
    pairs = zip(whole, (28, 56, 84), strict=True)
    return sum(Fraction(int(limb), 2**bits) for limb, bits in pairs)
