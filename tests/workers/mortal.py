"""Workers of which one is killed, once, in the middle of what it does."""

import os
import signal
import time
from dataclasses import replace
from pathlib import Path


def mortal(scan, folder, when, *, number=3, executor=False):
    """Return a scan by workers one of which dies once it was asked so often.

    Parameters
    ----------
    scan : Scan
        Whose workers these are.
    folder : Path
        Where calls are counted; every process can see it.
    when : {"before", "after", "merging", "splitting", "finishing"}
        Before it worked on fragments, after that, or when it merges states; if rows are moved,
        after it split some of them, or before it works on those that it owns.
    number : int
        Which call of them all kills the one that gets it.
    executor : bool
        Whether it is the JVM above the Python process that dies.
    """
    workers, die = scan.workers, death(folder, number, executor)

    class Mortal:
        ordered = workers.ordered

        def reduce(self, fragments, work, merge, progress):
            def on_fragments(some):
                die(when == "before")
                state = work(some)
                die(when == "after")
                return state

            def on_states(a, b):
                die(when == "merging")
                return merge(a, b)

            on_fragments.names = work.names
            return workers.reduce(fragments, on_fragments, on_states, progress)

        def exchange(self, fragments, exchange, progress):
            class MortalExchange:
                names, n_buckets = exchange.names, exchange.n_buckets

                def split(self, some):
                    yield from exchange.split(some)
                    die(when == "splitting")

                def finish(self, bucket, pieces):
                    die(when == "finishing")
                    return exchange.finish(bucket, pieces)

                def merge(self, a, b):
                    return exchange.merge(a, b)

            return workers.exchange(fragments, MortalExchange(), progress)

    return replace(scan, workers=Mortal())


def death(folder, number, executor):
    """Return a function that kills who calls it for the so-and-so-many-th time.

    It is made inside of this one so that it travels by value: workers do not know this file.
    """

    def victim():
        found = os.getpid()
        while executor and Path(f"/proc/{found}/comm").read_text().strip() != "java":
            status = Path(f"/proc/{found}/stat").read_text()
            found = int(status.rpartition(")")[2].split()[1])  # its parent
        return found

    def die(now):
        for i in range(1, number + 1) if now else ():
            try:
                os.close(os.open(f"{folder}/{i}", os.O_CREAT | os.O_EXCL))
            except FileExistsError:
                continue
            if i == number:
                os.kill(victim(), signal.SIGKILL)
                time.sleep(10)  # those below an executor end a little later than it
            return

    return die
