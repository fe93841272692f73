"""Laws of the number of events among independent rows: Poisson-binomial."""

from calibrant._kernels.jit import kernel


@kernel
def add_events(p, start, stop, law):
    """Write the law of the number of events among p[start:stop]; return its (first, last + 1).

    law : (at least stop - start + 1,)
    Ends of the support whose probability underflows to zero are left out.
    """
    law[0] = 1.0
    low = 0
    high = 1
    for i in range(start, stop):
        q = p[i]
        law[high] = 0.0
        for k in range(high, low, -1):
            law[k] = law[k] * (1.0 - q) + law[k - 1] * q
        law[low] *= 1.0 - q
        high += 1
        while high - low > 1 and law[high - 1] < 1e-30:
            high -= 1
        while high - low > 1 and law[low] < 1e-30:
            low += 1
    return low, high


@kernel
def block_laws(p, starts, laws, lows, highs):
    """Write the laws of the blocks p[starts[k]:starts[k + 1]]: laws (blocks, longest + 1)."""
    for k in range(lows.shape[0]):
        lows[k], highs[k] = add_events(p, starts[k], starts[k + 1], laws[k])
