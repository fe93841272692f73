"""Cells of a regular grid: every row gets a key, and equal keys get one number.

A key is a vector of digits (which interval along which coordinate) packed into as few
64-bit words as they need, so two rows are in one cell exactly if their keys are equal.
"""

import numpy as np

from calibrant._kernels.jit import helper, kernel


@kernel
def interval(p, edges):
    """Return j with j / k <= p < (j + 1) / k; the last interval is closed. p is not negative.

    edges : (k + 1,) j / k inside, -inf and inf at the ends
    p * k may round across an edge: so look, and step if need be.
    """
    k = edges.shape[0] - 1
    j = int(min(p * k, k - 1.0))
    return j - (p < edges[j]) + (p >= edges[j + 1])


@kernel
def box_keys(probs, start, stop, first, count, edges, per_word, keys):
    """Write the intervals of coordinates first … first + count - 1 as digits of base k."""
    k = np.uint64(edges.shape[0] - 1)
    for i in range(start, stop):
        for word in range(keys.shape[1]):
            key = np.uint64(0)
            for c in range(word * per_word, min((word + 1) * per_word, count)):
                j = interval(np.float64(probs[i, first + c]), edges)
                key = key * k + np.uint64(j)
            keys[i, word] = key


@kernel
def simplex_keys(probs, start, stop, first, count, edges, base, per_word, keys):
    """Write integer parts of c, then the ranks of its fractional parts, as digits of `base`.

    c_i = k (p_1 + … + p_i); equal fractions rank by their index.
    """
    k = edges.shape[0] - 1
    whole = np.empty(count, np.int64)
    fraction = np.empty(count)
    for i in range(start, stop):
        total = 0.0
        for c in range(count):
            total += probs[i, first + c]
            whole[c] = interval(total, edges)
            fraction[c] = total * k - whole[c]
            word = c // per_word
            keys[i, word] = keys[i, word] * np.uint64(base) + np.uint64(whole[c])
        for c in range(count):
            rank = 0
            for d in range(count):
                rank += fraction[d] < fraction[c] or (fraction[d] == fraction[c] and d < c)
            word = (count + c) // per_word
            keys[i, word] = keys[i, word] * np.uint64(base) + np.uint64(rank)


@helper
def hash_words(words):
    """Mix the words of one key into 64 bits."""
    h = np.uint64(0x9E3779B97F4A7C15)
    for w in range(words.shape[0]):
        h = (h ^ words[w]) * np.uint64(0xBF58476D1CE4E5B9)
        h ^= h >> np.uint64(29)
    h *= np.uint64(0x94D049BB133111EB)
    return h ^ (h >> np.uint64(32))


@kernel
def number_keys(keys, table, cells, examples):
    """Number equal keys by first appearance; return how many there are.

    table : whole numbers, a power of two at least twice the number of rows, filled with -1
    cells : (n,) the number of each row's key
    examples : (n,) the first row of each number
    """
    mask = np.uint64(table.shape[0] - 1)
    found = 0
    for i in range(keys.shape[0]):
        slot = hash_words(keys[i]) & mask
        while True:
            number = table[slot]
            if number < 0:
                table[slot] = found
                examples[found] = i
                cells[i] = found
                found += 1
                break
            same = True
            for w in range(keys.shape[1]):
                if keys[examples[number], w] != keys[i, w]:
                    same = False
                    break
            if same:
                cells[i] = number
                break
            slot = (slot + np.uint64(1)) & mask
    return found


@kernel
def number_small(keys, seen, cells):
    """Number keys below seen.size by rank among those present; `seen` becomes key -> number."""
    for i in range(keys.shape[0]):
        seen[keys[i, 0]] = 0
    found = 0
    for key in range(seen.shape[0]):
        if seen[key] == 0:
            seen[key] = found
            found += 1
    for i in range(keys.shape[0]):
        cells[i] = seen[keys[i, 0]]
    return found
