"""How counts, shares and p-values are written in sentences."""

from collections.abc import Sequence
from math import ceil, floor, log10

ALPHA = 0.05  # level at which a verdict rejects calibration
NEEDED = 19  # the fewest resamples B with 1 / (B + 1) at most ALPHA: fewer can never reject
CLUSTERS = 6  # the fewest k with 2 / 2^k at most ALPHA, of signs that can be flipped; and of the
# mean of a Poisson number that is at most 1 with probability ALPHA / 2: one shows no dependence
BIAS = "bias (predicted − observed)"  # heads a column, whose sign it says
BOTH_OUTCOMES = "The Brier score adds up both outcomes: it is twice that of the event alone."


def too_few(needed: int = NEEDED, noun: str = "resample") -> str:
    """Say how many resamples, or clusters, a rejection needs."""
    return f"at least {many(needed, noun)} are needed to reject calibration at {percent(ALPHA)}"


def few_clusters(worth: float, count: int) -> str:
    """Say why so many clusters cannot tell, and how many such clusters could."""
    needed = too_few(CLUSTERS, "cluster")
    if count < CLUSTERS:
        return needed
    known = min(worth, CLUSTERS - 0.1)  # 5.99 is not 6
    like_these = f": about {_at_least(count * CLUSTERS / worth)} like these" if worth > 0 else ""
    return (
        f"with a rare outcome, or unequal clusters, they count as {known:.2g}, and"
        f" {needed}{like_these}"
    )


def _at_least(number: float) -> str:
    """Write a number, rounded up to two digits."""
    step = 10 ** max(0, floor(log10(number)) - 1)
    return f"{ceil(number / step) * step:,}"


def too_few_for(count: int, noun: str, plural: str) -> str:
    """Say, after something else, how many things clusters are too few to judge."""
    return f"; too few clusters to judge {count:,} {noun if count == 1 else plural}" * (count > 0)


def bins(partition: object) -> str:
    """Write of which bins something is: "15 equal widths" are "15 bins of equal width"."""
    named = str(partition).replace("equal widths", "bins of equal width")
    return named.replace("equal masses", "bins of equal mass")


def score_name(name: str) -> str:
    """Return the name of a score in words."""
    return name.replace("_", " ").replace("brier", "Brier").replace("log score", "log loss")


def be(count: int) -> str:
    """Return the verb for a number of things."""
    return "is" if count == 1 else "are"


def many(count: float, noun: str) -> str:
    """Write a number of things: "1 row", "2,000 rows"."""
    return f"{count:,.12g} {noun}{'' if count == 1 else 's'}"


def rows_of(count: float, weighted: bool) -> str:
    """Write the number of rows of a bin, or their weight: "rows of weight 470.8"."""
    if not weighted:
        return many(count, "row")
    return f"rows of weight {count:,.1f}" if count >= 100 else f"rows of weight {count:.4g}"


def listed(names: Sequence[str], last: str = "and") -> str:
    """Join names: "a", "a and b", "a, b and c"."""
    return f" {last} ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))


def capital(text: str) -> str:
    """Begin a text with a capital letter."""
    return text[:1].upper() + text[1:]


def points(share: float) -> str:
    """Write a difference of probabilities in percentage points, never as "0.0"."""
    return f"{100 * share:.1f} points" if share >= 0.0005 else f"{100 * share:.1g} points"


def apart(first: float, second: float) -> tuple[str, str]:
    """Write two differences of probabilities in points, with digits enough to tell them apart."""
    for digits in range(1, 5):
        texts = [f"{100 * share:.{digits}f}" for share in (first, second)]
        if texts[0] != texts[1] and all(float(text) for text in texts):
            break
    return f"{texts[0]} points", f"{texts[1]} points"


def span(low: float, high: float | None) -> str:
    """Write an interval of sizes, in percentage points: "0 to 2.5"; "at least 2.5" without end."""
    texts = [f"{100 * end:.1f}" if end >= 0.0005 else "0" for end in (low, high or 0.0)]
    return f"at least {texts[0]}" if high is None else " to ".join(texts)


def signed(value: float, digits: int) -> str:
    """Write a number with its sign, and zero without one."""
    return f"{value:+z.{digits}f}" if float(f"{value:z.{digits}f}") else f"{0:.{digits}f}"


def decimal(value: float, digits: int = 4) -> str:
    """Write a number with so many digits after the point, and infinity as a sign."""
    return f"{value:.{digits}f}".replace("inf", "∞")


def percent(share: float) -> str:
    """Write a share in per cent."""
    return f"{100 * share:g} %".replace(" ", "\N{NO-BREAK SPACE}")


def pvalue(p: float, n_resamples: int | None = None, space: str = "\N{NO-BREAK SPACE}") -> str:
    """Write a p-value on one line: the least that so many resamples can give with ≤.

    A p-value that does not come from resamples is not given below 0.001, where the normal
    approximation that it rests on would be trusted too far.

    Examples
    --------
    >>> [pvalue(p, B, " ") for p, B in ((0.001, 999), (0.002, 999), (0.00003, 99_999))]
    ['p ≤ 0.001', 'p = 0.002', 'p = 3e-05']
    """
    if n_resamples is None:
        return space.join(("p", "=", f"{p:.3f}") if p >= 0.001 else ("p", "<", "0.001"))
    sign = "≤" if p * (n_resamples + 1) < 1.5 else "="
    return space.join(("p", sign, f"{p:.3f}" if p >= 0.001 else f"{p:.1g}"))
