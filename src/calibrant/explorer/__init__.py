"""The explorer: the report, rendered on demand by a small server on this machine.

`state` is what an address says, `session` works out answers and remembers them, `pages` writes
HTML with the sentences, tables and charts of the library, `server` sends it.
"""

from pathlib import Path

from calibrant.arguments import takes_models
from calibrant.checks.parameters import whole
from calibrant.diagrams.diagram import Models, named
from calibrant.explorer.server import LOCAL, Explorer
from calibrant.explorer.session import Session
from calibrant.inference.replicates.problem import check_resamples

__all__ = ["Explorer", "explore"]


@takes_models
def explore(
    data: Models,
    *,
    title: str = "calibrant",
    n_resamples: int = 999,
    host: str = LOCAL,
    port: int = 0,
    images: str | Path | None = None,
) -> Explorer:
    """Look around in the predictions: opens a page in your browser or notebook.

    Parameters
    ----------
    data : Predictions, or mapping of str to Predictions
        One model, or several by name, of the same classes. Columns that `load` kept beside them can
        be looked at by group and by row.
    title : str, default "calibrant"
        Title of the page.
    n_resamples : int, default 999
        Number of data sets drawn under the hypothesis of calibration.
    host, port
        Where to listen; by default only this machine can reach it, at any free port.
    images : path, optional
        Folder of pictures that a column of the data names; nothing outside of it is shown.

    Returns
    -------
    Explorer
        Its `address` has a random token without which nothing is answered; `close()` ends it.

    Examples
    --------
    >>> import calibrant as cal
    >>> page = cal.explore([0.2, 0.9, 0.4, 0.7], [0, 1, 1, 1])
    >>> page.address.startswith("http://127.0.0.1:")
    True
    >>> page.close()
    """
    models = {name or "data": model for name, model in named(data).items()}
    session = Session(models, n_resamples=check_resamples(n_resamples))
    folder = None if images is None else Path(images)
    return Explorer(session, title, host, whole("port", port, least=0), folder).start()
