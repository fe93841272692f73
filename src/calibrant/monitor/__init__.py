"""When did it start: a calibration alarm that may be watched forever.

`Monitor` takes rows as they come. `streams` has one lens's bets, `starts` says when a deviation
began, `bias` how large it is whenever somebody looks, `findings` which bet won, `late` keeps rows
whose outcome is not known yet, `saved` turns all of it into JSON, and `picture` draws it.
"""

from calibrant.monitor.findings import Finding
from calibrant.monitor.merged import Merged
from calibrant.monitor.monitor import Monitor
from calibrant.monitor.picture import MonitorDiagram

__all__ = ["Finding", "Merged", "Monitor", "MonitorDiagram"]
