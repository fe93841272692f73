"""The docstrings' formulas in plain loops: slow, short, and written without the package."""

from fractions import Fraction
from math import fsum, inf, log, sqrt


def rows_of(data):
    """Return (probs, labels, weights) as lists of Python numbers."""
    return data.probs.tolist(), data.labels.tolist(), data.weights.tolist()


def ranked(names):
    """Number names by their rank among those that occur."""
    place = {name: i for i, name in enumerate(sorted(set(names)))}
    return [place[name] for name in names]


def interval(p, k):
    """Return the j with j/k <= p < (j+1)/k, the last interval closed."""
    for j in range(k - 1):
        if p < (j + 1) / k:
            return j
    return k - 1


def cut(data, p):
    """Return the coordinates that a grid cuts: the event of two outcomes, else all but the last."""
    return [p[data.event]] if data.m == 2 else p[:-1]


def equal_width(data, k):
    return ranked([tuple(interval(q, k) for q in cut(data, p)) for p in data.probs.tolist()])


def simplex_name(coordinates, k):
    """Name a cell: integer parts of c_i = k (p_1 + … + p_i), and the ranks of the fractions."""
    whole, fraction, total = [], [], 0.0
    for q in coordinates:
        total += q
        whole.append(interval(total, k))
        fraction.append(total * k - whole[-1])
    order = sorted(range(len(whole)), key=lambda i: (fraction[i], i))
    return tuple(whole), tuple(order.index(i) for i in range(len(whole)))


def simplex_bins(data, k):
    return ranked([simplex_name(cut(data, p), k) for p in data.probs.tolist()])


def equal_mass(data, k):
    """Put value v in bin floor(k (W(v) + w(v)/2) / W), in exact arithmetic."""
    probs, _, weights = rows_of(data)
    values = [p[data.event] for p in probs]
    exact = [Fraction(w) for w in weights]
    total = sum(exact)
    bin_of = {}
    for v in {v for v, w in zip(values, weights, strict=True) if w > 0}:
        below = sum(w for u, w in zip(values, exact, strict=True) if u < v)
        at = sum(w for u, w in zip(values, exact, strict=True) if u == v)
        bin_of[v] = min(k - 1, k * (below + at / 2) // total)
    # A value of weight 0 joins the bin of the next lower value that counts, else the first.
    known = sorted(bin_of)
    names = [bin_of[max([u for u in known if u <= v], default=known[0])] for v in values]
    return ranked(names)


def variance_tree(data, min_size, split="mean"):
    """Appendix B, literally: leaves are numbered from left to right."""
    cells = [-1] * data.n
    for number, leaf in enumerate(_grow(data, list(range(data.n)), min_size, split)):
        for r in leaf:
            cells[r] = number
    return cells


def _grow(data, rows, min_size, split):
    """Return the leaves under a node with these rows, as lists of rows."""
    probs, _, weights = rows_of(data)
    axes = [data.event] if data.m == 2 else list(range(data.m))
    w = [weights[r] for r in rows]
    if fsum(w) < min_size or fsum(w) == 0:
        return [rows]
    columns = {j: [probs[r][j] for r in rows] for j in axes}
    variances = {j: variance(x, w) for j, x in columns.items()}
    largest = max(variances.values())
    tied = [j for j in axes if variances[j] >= largest * (1 - 1e-12)]
    for power in (3, 4, 1):
        found = {j: moment(columns[j], w, power) for j in tied}
        tied = [j for j in tied if found[j] == max(found.values())]
    j = tied[0]
    t = mean(columns[j], w) if split == "mean" else median(columns[j], w)
    left = [r for r in rows if probs[r][j] < t]
    right = [r for r in rows if not probs[r][j] < t]
    if not any(weights[r] for r in left) or not any(weights[r] for r in right):
        return [rows]
    return _grow(data, left, min_size, split) + _grow(data, right, min_size, split)


def moment(values, weights, power):
    """Return the mean (power 1), or a sum of powers of deviations from it."""
    middle = mean(values, weights)
    if power == 1:
        return middle
    gaps = [x - middle for x in values]
    powers = [(d * d) * (d if power == 3 else d * d) for d in gaps]
    return fsum(x * w for x, w in zip(powers, weights, strict=True))


def mean(values, weights):
    return fsum(w * x for x, w in zip(values, weights, strict=True)) / fsum(weights)


def variance(values, weights):
    centre = mean(values, weights)
    return mean([(x - centre) ** 2 for x in values], weights)


def median(values, weights):
    """Return the value with half the weight on either side; the mean of two if it is between."""
    pairs = sorted((v, Fraction(w)) for v, w in zip(values, weights, strict=True) if w > 0)
    half = sum(w for _, w in pairs) / 2
    below = Fraction(0)
    for i, (v, w) in enumerate(pairs):
        below += w
        if below == half:
            return 0.5 * (v + pairs[i + 1][0])
        if below > half:
            return v
    raise AssertionError("no weight")


def cell_table(data, cells):
    """Return {cell: (mass, mean prediction, outcome frequencies)} of cells with mass.

    Of two outcomes the event alone is averaged: what it lacks to 1 is the other's. A row of
    float32 adds up to 1 only to 1e-7, and both outcomes are off by the same to the last digit.
    """
    probs, labels, weights = rows_of(data)
    table = {}
    for c in sorted(set(cells)):
        mine = [r for r, cell in enumerate(cells) if cell == c]
        mass = fsum(weights[r] for r in mine)
        if mass > 0:
            sums = [
                sum(Fraction(weights[r]) * Fraction(probs[r][j]) for r in mine)
                for j in range(data.m)
            ]
            if data.m == 2:
                sums[1 - data.event] = Fraction(mass) - sums[data.event]
            predicted = [float(total) / mass for total in sums]
            observed = [
                fsum(weights[r] for r in mine if labels[r] == j) / mass for j in range(data.m)
            ]
            table[c] = (mass, predicted, observed)
    return table


def total_variation(p, q):
    return 0.5 * fsum(abs(a - b) for a, b in zip(p, q, strict=True))


def squared_euclidean(p, q):
    return fsum((a - b) ** 2 for a, b in zip(p, q, strict=True))


def euclidean(p, q):
    return sqrt(squared_euclidean(p, q))


DISTANCES = {
    "total_variation": total_variation,
    "euclidean": euclidean,
    "squared_euclidean": squared_euclidean,
}


def expected_miscalibration(data, cells, distance):
    table = cell_table(data, cells)
    total = fsum(mass for mass, _, _ in table.values())
    return fsum(mass * distance(o, p) for mass, p, o in table.values()) / total


def worst_miscalibration(data, cells, distance):
    return max(distance(o, p) for _, p, o in cell_table(data, cells).values())


def top_k(data, k):
    """Return the k largest predictions and the rest, and the rank of the label, by sorting."""
    out, outcomes = [], []
    for p, y in zip(data.probs.tolist(), data.labels.tolist(), strict=True):
        order = sorted(range(data.m), key=lambda j: (-p[j], j))
        best = [p[j] for j in order[:k]]
        out.append([*best, max(0.0, 1.0 - fsum(best))])
        outcomes.append(min(order.index(y), k))
    return out, outcomes


def score(data, of_row):
    """Return the weighted mean of a function of (p, y); rows of weight 0 are absent."""
    kept = [(of_row(p, y), w) for p, y, w in zip(*rows_of(data), strict=True) if w > 0]
    return fsum(s * w for s, w in kept) / fsum(w for _, w in kept)


SCORES = {
    "log_score": lambda p, y: -log(p[y]) if p[y] > 0 else inf,
    "brier_score": lambda p, y: fsum((q - (j == y)) ** 2 for j, q in enumerate(p)),
    "spherical_score": lambda p, y: p[y] / sqrt(fsum(q * q for q in p)),
    "accuracy": lambda p, y: float(p.index(max(p)) == y),
}
