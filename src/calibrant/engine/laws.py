"""Laws of the number of events among independent rows: Poisson-binomial."""

from calibrant.engine.jit import kernel


@kernel
def block_laws(p, length, laws, spans):
    """Write the laws of the number of events in each block of so many rows.

    laws : (blocks · (length + 1),), of which spans[b, 0] … spans[b, 1] - 1 is the law of block
        b; b · (length + 1) stands for no events
    Ends of the support whose probability underflows to zero are left out.
    """
    n = p.shape[0]
    for b in range(spans.shape[0]):
        start = b * length
        low = start + b
        high = low + 1
        laws[low] = 1.0
        for i in range(start, start + length if start + length < n else n):
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
        spans[b, 0] = low
        spans[b, 1] = high
