"""Who does the work on parts of a data set: threads, processes, a cluster.

Workers have two methods. ``reduce(fragments, work, merge, progress)``: ``work`` takes fragments and
returns a state, and ``merge`` puts two states together, exactly, so neither their number nor
their order matters. ``exchange(fragments, exchange, progress)``: rows are moved to numbered
buckets, each bucket becomes a state, and these are merged. If the work on fragments fails, the
error of the first of them is raised. Workers know nothing of what they do.
"""

from calibrant.rows.workers.threads import Threads
from calibrant.rows.workers.workers import Workers, as_workers

__all__ = ["Threads", "Workers", "as_workers"]
