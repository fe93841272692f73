"""What a monitor says of itself."""

from typing import TYPE_CHECKING

from calibrant import words

if TYPE_CHECKING:
    from calibrant.monitor.monitor import Monitor


def text(monitor: "Monitor") -> str:
    """Say whether there is an alarm, since when, and how far off predictions are."""
    rows = words.many(monitor.n, "row")
    if not monitor.n:
        return f"no rows yet{_beside(monitor)}"
    evidence = f"e-value {monitor.evalue:.3g}"
    if monitor.alarm is None and monitor.change is None:
        lead = f"no alarm after {rows}: {evidence}, alarm at {1 / monitor.alpha:.3g}"
    elif monitor.change is None and monitor.alarm == monitor.impossible:
        lead = _alarms(monitor)  # one row that tells nothing of the others
    else:
        lead = f"{_alarms(monitor)}; {monitor.which}; {_since(monitor)}"
    return f"{lead}; {_bias(monitor)}{_beside(monitor)}"


def _alarms(monitor: "Monitor") -> str:
    """Say which alarm came, when, and what it promises."""
    if monitor.alarm is not None:
        why = f" (in at most {words.percent(monitor.alpha)} of calibrated streams, ever)"
        if monitor.alarm == monitor.impossible:
            why = ": an outcome occurred that had probability 0"
        alarm = f"alarm at row {monitor.alarm:,}{why}"
        early = monitor.change is not None and monitor.change < monitor.alarm
        return f"{alarm}, after a change was detected at row {monitor.change:,}" if early else alarm
    every = f"every {monitor.run_length:,} rows" if monitor.run_length else ""
    return f"change detected at row {monitor.change:,} (a false one comes {every} on average)"


def _since(monitor: "Monitor") -> str:
    assert monitor.start is not None
    low, high = monitor.start.interval
    return f"most likely since row {monitor.start.row:,} ({low:,} to {high:,})"


def _bias(monitor: "Monitor") -> str:
    assert monitor.bias is not None
    assert monitor.bias_interval is not None
    low, high = (words.signed(100 * each, 1) for each in monitor.bias_interval)
    return f"bias {words.signed(100 * monitor.bias, 1)} points ({low} to {high})"


def _beside(monitor: "Monitor") -> str:
    """Say what else happened, what was left out, and what waits."""
    extra = ""
    if monitor.impossible is not None and monitor.impossible != monitor.alarm:
        extra += f"; an outcome that had probability 0 occurred at row {monitor.impossible:,}"
    if monitor.missing:
        extra += f"; {words.many(monitor.missing, 'row')} with missing values left out"
    if monitor.waiting:
        extra += f"; {words.many(monitor.waiting, 'row')} waiting"
    return extra
