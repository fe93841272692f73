"""Laws of the number of events among independent rows: Poisson-binomial."""

from calibrant._kernels.jit import kernel


@kernel
def block_laws(p, starts, width, laws, lows, highs):
    """Write the laws of the number of events in p[starts[b]:starts[b + 1]], block by block.

    laws : (blocks · width,), of which lows[b] … highs[b] - 1 is the law of block b; b · width
        stands for no events
    Ends of the support whose probability underflows to zero are left out.
    """
    for b in range(lows.shape[0]):
        low = b * width
        high = low + 1
        laws[low] = 1.0
        for i in range(starts[b], starts[b + 1]):
            q = p[i]
            before = 0.0
            for k in range(low, high):
                here = laws[k]
                laws[k] = here * (1.0 - q) + before * q
                before = here
            laws[high] = before * q
            high += 1
            while laws[high - 1] < 1e-30:
                high -= 1
            while laws[low] < 1e-30:
                low += 1
        lows[b] = low
        highs[b] = high
