"""How counts, shares and p-values are written in sentences."""

ALPHA = 0.05  # level at which a verdict rejects calibration
NEEDED = 19  # the fewest resamples B with 1 / (B + 1) at most ALPHA: fewer can never reject


def too_few() -> str:
    """Say how many resamples a rejection needs."""
    return f"at least {NEEDED} resamples are needed to reject calibration at {100 * ALPHA:g} %"


def score_name(name: str) -> str:
    """Return the name of a score in words."""
    return name.replace("_", " ").replace("brier", "Brier")


def be(count: int) -> str:
    """Return the verb for a number of things."""
    return "is" if count == 1 else "are"


def many(count: float, noun: str) -> str:
    """Write a number of things: "1 row", "2,000 rows"."""
    return f"{count:,.12g} {noun}{'' if count == 1 else 's'}"


def rows_of(count: float, weighted: bool) -> str:
    """Write the number of rows of a cell, or their weight: "rows of weight 470.8"."""
    if not weighted:
        return many(count, "row")
    return f"rows of weight {count:,.1f}" if count >= 100 else f"rows of weight {count:.4g}"


def capital(text: str) -> str:
    """Begin a text with a capital letter."""
    return text[:1].upper() + text[1:]


def points(share: float) -> str:
    """Write a difference of probabilities in percentage points."""
    return f"{100 * share:.1f} points"


def signed(difference: float) -> str:
    """Write a difference with its sign, and a minus that is as wide as the plus."""
    return f"{difference:+.4f}".replace("-", "−")


def percent(share: float) -> str:
    """Write a share in per cent."""
    return f"{100 * share:g} %".replace(" ", "\N{NO-BREAK SPACE}")


def pvalue(p: float, *, least: bool = False) -> str:
    """Write a p-value, on one line; the least that resamples can show with a sign that says so."""
    exact = f"p = {p:.3f}" if p >= 0.001 else "p < 0.001"
    text = f"p ≤ {p:.3g}" if least else exact
    return text.replace(" ", "\N{NO-BREAK SPACE}")
