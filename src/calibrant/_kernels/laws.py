"""Laws of the number of events among independent rows: Poisson-binomial."""

from calibrant._kernels.jit import kernel


@kernel
def block_laws(p, starts, laws, lows, highs):
    """Write the laws of the number of events in p[starts[b]:starts[b + 1]], block by block.

    laws : (blocks, longest + 1), whose entries lows[b] … highs[b] - 1 are written
    Ends of the support whose probability underflows to zero are left out.
    """
    for b in range(lows.shape[0]):
        laws[b, 0] = 1.0
        low = 0
        high = 1
        for i in range(starts[b], starts[b + 1]):
            q = p[i]
            laws[b, high] = 0.0
            for k in range(high, low, -1):
                laws[b, k] = laws[b, k] * (1.0 - q) + laws[b, k - 1] * q
            laws[b, low] *= 1.0 - q
            high += 1
            while high - low > 1 and laws[b, high - 1] < 1e-30:
                high -= 1
            while high - low > 1 and laws[b, low] < 1e-30:
                low += 1
        lows[b] = low
        highs[b] = high
