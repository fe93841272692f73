"""Induced predictions and labels, row by row."""

from calibrant.engine.jit import kernel


@kernel
def top(probs, labels, start, stop, k, out, outcome):
    """Write the k largest entries and the rest, and the rank of the label (k: none of them).

    Equal entries rank by class index. out (n, k + 1), outcome (n,).
    """
    m = probs.shape[1]
    for i in range(start, stop):
        for r in range(k):
            out[i, r] = -1.0
        least = out[i, k - 1]
        for j in range(m):
            p = probs[i, j]
            if p > least:
                r = k - 1
                while r > 0 and out[i, r - 1] < p:
                    out[i, r] = out[i, r - 1]
                    r -= 1
                out[i, r] = p
                least = out[i, k - 1]
        rest = 1.0
        for r in range(k):
            rest -= out[i, r]
        out[i, k] = max(rest, 0.0)

        y = labels[i]
        p = probs[i, y]
        outcome[i] = k
        if p >= least:
            rank = 0
            for j in range(m):
                q = probs[i, j]
                rank += q > p or (q == p and j < y)
            outcome[i] = min(rank, k)


@kernel
def top_one(bits, labels, start, stop, out, outcome):
    """Write the largest entry of each row, and whether the label is another class (0 or 1).

    bits : (n, m) the probabilities' bits as integers, out (n, 2) likewise. Numbers that are
        not negative order like their bits, and integers are compared many at a time.
    """
    m = bits.shape[1]
    for i in range(start, stop):
        best = bits[i, 0]
        for j in range(1, m):
            best = bits[i, j] if bits[i, j] > best else best
        out[i, 0] = best
        y = labels[i]
        other = bits[i, y] != best
        if not other:
            for j in range(y):
                other |= bits[i, j] == best
        outcome[i] = other


@kernel
def group(probs, start, stop, group_of, sums, out):
    """Add up the classes of each group in float64: out (n, groups).

    group_of : (m,), sums : (groups,) room
    """
    m = probs.shape[1]
    for i in range(start, stop):
        sums[:] = 0.0
        for j in range(m):
            sums[group_of[j]] += probs[i, j]
        for g in range(sums.shape[0]):
            out[i, g] = sums[g]
