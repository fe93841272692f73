"""A small server on this machine. Nothing is asked of it without its token, and nothing changed.

The standard library's server is enough for one person and needs nothing installed. Addresses begin
with a random token, which whoever started the explorer knows; requests that lack it, name another
host or are fetched by a page of another origin are refused.
"""

import csv
import io
import os
import re
import threading
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from secrets import compare_digest, token_urlsafe
from tempfile import TemporaryDirectory
from typing import Any, final
from urllib.parse import parse_qsl, urlsplit

from calibrant.diagrams import reliability_diagram
from calibrant.explorer.pages import IMAGES, Pages, look, row_table, selected_rows
from calibrant.explorer.session import Session
from calibrant.explorer.state import State
from calibrant.inference.replicates.problem import Progress
from calibrant.reporting import report

LOCAL = "127.0.0.1"
AT_ONCE = 4  # requests that compute at the same time; others wait
PANELS = "controls", "diagram", "verdict", "below"  # methods of `Pages`
MOST_TICKETS = 256
LARGEST_IMAGE = 20_000_000  # bytes
MOST_CSV = 100_000  # rows
TYPES = {".svg": "image/svg+xml", ".png": "image/png", ".csv": "text/csv"}
IMAGE_TYPES = {".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".png": "image/png"}
IMAGE_TYPES |= {".gif": "image/gif", ".webp": "image/webp"}


class OutdatedError(Exception):
    """Somebody asks something else by now."""


@final
class Tickets:
    """The latest question of each tab of a browser, and how far its answer is."""

    def __init__(self) -> None:
        self._latest: dict[str, int] = {}
        self._shares: dict[str, float] = {}

    def progress(self, ticket: str) -> Progress | None:
        """Return what work reports to; it ends work that nobody waits for any more."""
        found = re.fullmatch(r"([0-9a-z]{1,30})\.([0-9]{1,9})", ticket)
        if found is None:
            return None
        tab, number = found[1], int(found[2])
        if len(self._latest) > MOST_TICKETS:
            self._latest, self._shares = {}, {}
        self._latest[tab] = max(number, self._latest.get(tab, 0))
        self._shares[tab] = 0.0

        def tell(done: int, total: int) -> None:
            if number < self._latest.get(tab, 0):
                raise OutdatedError
            self._shares[tab] = done / max(1, total)

        return tell

    def share(self, ticket: str) -> float:
        """Return how much of the work is done."""
        return self._shares.get(ticket.partition(".")[0], 0.0)


@final
class Explorer:
    """The explorer of a session, served until it is closed.

    In a notebook it shows its page in a cell.
    """

    def __init__(
        self,
        session: Session,
        title: str,
        host: str = LOCAL,
        port: int = 0,
        images: Path | None = None,
        first: State = State(),  # noqa: B008 (it cannot change)
    ) -> None:
        self.session, self.pages = session, Pages(session, title)
        self.images = None if images is None else Path(os.path.realpath(images))
        self.token, self.tickets = token_urlsafe(24), Tickets()
        self.slots = threading.BoundedSemaphore(AT_ONCE)
        handler = type("ExplorerHandler", (Handler,), {"explorer": self})
        self.server = _listen(host, port, handler)
        self.host, self.first = host, first

    @property
    def address(self) -> str:
        """Where the page is, with the token."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        query = self.first.query() if self.first != State() else ""
        return f"http://{host}:{self.server.server_port}/{self.token}/{query}"

    def names(self, host: str) -> set[str]:
        """Return what the server is called by those who mean it; `host` is what somebody said."""
        if self.host in ("0.0.0.0", "::"):
            return {host}
        own = urlsplit(self.address).netloc
        return {own, f"localhost:{self.server.server_port}"} if self.host == LOCAL else {own}

    def start(self) -> "Explorer":
        """Serve in the background."""
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def close(self) -> None:
        """Stop serving."""
        self.server.shutdown()
        self.server.server_close()

    def _repr_html_(self) -> str:
        size = "width: 100%; height: 780px; border: 0"
        return f'<iframe title="calibrant" style="{size}" src="{self.address}"></iframe>'

    def __repr__(self) -> str:
        return f"<explorer at {self.address}>"


class Server(ThreadingHTTPServer):
    """A thread for each request; those that come at once wait in line, and none is turned away."""

    request_queue_size = 256
    daemon_threads = True


def _listen(host: str, port: int, handler: type[BaseHTTPRequestHandler]) -> Server:
    """Open a port; if it is in use, one of the next."""
    for number in range(port, min(port + 20, 65_536)) if port else (0,):
        try:
            return Server((host, number), handler)
        except (OSError, OverflowError) as error:
            why = str(getattr(error, "strerror", None) or error).lower()
            if number + 1 < port + 20 and "in use" in why:
                continue
            raise ValueError(
                f"`host` and `port` cannot be listened to: {host}:{number}, {why}."
            ) from None
    raise ValueError(f"`port` must be free; {port} and the next ones are in use.")


class Handler(BaseHTTPRequestHandler):
    """Answers one request."""

    explorer: Explorer
    server_version, sys_version = "calibrant", ""
    protocol_version = "HTTP/1.0"  # a connection for each request: none outlives the server
    timeout = 60

    def do_GET(self) -> None:
        """Answer, or refuse."""
        path, query = urlsplit(self.path).path, urlsplit(self.path).query
        _, token, *rest = path.split("/", 2)
        if not self._trusted(token):
            self._send("This address is not known.", HTTPStatus.FORBIDDEN)
            return
        page = rest[0] if rest else ""
        given = dict(parse_qsl(query, max_num_fields=64, keep_blank_values=True))
        try:
            self._answer(page, given)
        except Exception as error:  # a fault of ours must not end the answer without a word
            self._send(*_told(error))

    def _trusted(self, token: str) -> bool:
        """Whether a request knows the token, names this host, and comes from our own page."""
        host, origin = self.headers.get("Host", ""), self.headers.get("Origin")
        here = self.explorer.names(host)
        return (
            compare_digest(token.encode(), self.explorer.token.encode())
            and host in here
            and (origin is None or origin in {f"http://{name}" for name in here})
            and (self.headers.get("Sec-Fetch-Site") != "cross-site" or self._opened())
        )

    def _opened(self) -> bool:
        """Whether somebody follows a link, or sees the page in the cell of a notebook."""
        return self.headers.get("Sec-Fetch-Mode") == "navigate"

    def _answer(self, page: str, given: dict[str, str]) -> None:
        """Send a page, one of its panels, a file, or how far the work is."""
        here, ticket = self.explorer, given.get("ticket", "")
        panel = page.removeprefix("panel/")
        if page == "progress":
            self._send(f"{here.tickets.share(ticket):.4f}")
            return
        if page == "image":
            self._image(given)
            return
        if page not in ("", *FILES) and (panel == page or panel not in PANELS):
            self._send("There is no such page.", HTTPStatus.NOT_FOUND)
            return
        state, progress = here.session.tidy(State.of(given)), here.tickets.progress(ticket)
        with here.slots:
            told, kind, name = self._computed(page, panel, state, progress)
        if given.get("alone"):
            told = here.pages.alone(str(told))
        self._send(told, kind=kind, name=name)

    def _computed(
        self, page: str, panel: str, state: State, progress: Progress | None
    ) -> tuple[str | bytes, str, str]:
        """Return what is sent, its type, and the name of a file."""
        pages = self.explorer.pages
        if page in FILES:
            kind = TYPES.get(Path(page).suffix, "text/html")
            return FILES[page](pages.session, state), kind, f"calibrant-{page}"
        if page == "":
            return pages.whole(state), "text/html", ""
        return getattr(pages, panel)(state, progress), "text/html", ""

    def _image(self, given: dict[str, str]) -> None:
        """Send the picture that a row names, if it lies in the folder of pictures."""
        data = self.explorer.session.model(State(model=given.get("model", "")))
        column, folder = data.columns.get(given.get("column", "")), self.explorer.images
        if column is None:
            raise ValueError("There is no such column.")
        named = str(column[int(given.get("row", "-1"))])
        path = None if folder is None else _picture(folder, named)
        if path is None:
            self._send("There is no such picture.", HTTPStatus.NOT_FOUND)
            return
        self._send(path.read_bytes(), kind=IMAGE_TYPES[path.suffix.lower()])

    def _send(
        self,
        body: str | bytes,
        status: HTTPStatus = HTTPStatus.OK,
        kind: str = "text/plain",
        name: str = "",
    ) -> None:
        found = body.encode() if isinstance(body, str) else body
        self.send_response(status)
        headers = {
            "Content-Type": f"{kind}; charset=utf-8",
            "Content-Length": str(len(found)),
            "Content-Security-Policy": self.explorer.pages.policy,
            "X-Content-Type-Options": "nosniff",
            "Referrer-Policy": "no-referrer",
            "Cache-Control": "no-store",
            "Cross-Origin-Resource-Policy": "same-origin",
        }
        if name:
            headers["Content-Disposition"] = f'attachment; filename="{name}"'
        for each in headers.items():
            self.send_header(*each)
        self.end_headers()
        try:
            self.wfile.write(found)
        except (BrokenPipeError, ConnectionResetError):  # the browser has left
            self.close_connection = True

    def log_message(self, *_: Any) -> None:
        """Say nothing: requests hold the token."""


def _told(error: Exception) -> tuple[str, HTTPStatus]:
    """Return what is said of an error."""
    if isinstance(error, ValueError | TypeError | IndexError):
        return str(error).replace("`", ""), HTTPStatus.BAD_REQUEST
    if isinstance(error, OutdatedError):
        return "Outdated.", HTTPStatus.CONFLICT
    if isinstance(error, MemoryError):
        return "There is not enough memory for this.", HTTPStatus.INSUFFICIENT_STORAGE
    told = f"The explorer failed: {type(error).__name__}: {error}"
    return told, HTTPStatus.INTERNAL_SERVER_ERROR


def _picture(folder: Path, name: str) -> Path | None:
    """Return the file of a picture; None if it is none, is too large or lies elsewhere."""
    path = Path(os.path.realpath(folder / name))  # which follows links in a circle no further
    if not path.is_relative_to(folder) or path.suffix.lower() not in IMAGES or not path.is_file():
        return None
    return path if path.stat().st_size <= LARGEST_IMAGE else None


def _svg(session: Session, state: State) -> str:
    found = session.ask(reliability_diagram, state)
    return found.figure(**look(state, found)).svg


def _png(session: Session, state: State) -> bytes:
    from calibrant.diagrams import static  # noqa: PLC0415 (loads matplotlib)

    found = session.ask(reliability_diagram, state)

    def draw(path: Path) -> None:
        static.draw_without_window()
        static.save(found.plot(**look(state, found)), path)

    with _DRAWING:
        return _written("figure.png", draw)


_DRAWING = threading.Lock()  # matplotlib's state knows one thread


def _bins_csv(session: Session, state: State) -> str:
    return str(session.ask(reliability_diagram, state).to_frame("polars").write_csv())


def _rows_csv(session: Session, state: State) -> str:
    rows = selected_rows(session, state, session.ask(reliability_diagram, state))
    header, lines = row_table(session, state, rows[:MOST_CSV])
    out = io.StringIO()
    csv.writer(out).writerows([header, *lines])
    return out.getvalue()


def _report(session: Session, state: State) -> bytes:
    models = session.pair(state)
    data: Any = models if len(models) > 1 else next(iter(models.values()))
    told = {"region": state.region or None, **session.draws}
    if state.lens.startswith("groups:") and not session.two(state):
        told["groups"] = state.lens
    return _written("report.html", lambda path: report(data, path, **told))


def _written(name: str, write: Callable[[Path], Any]) -> bytes:
    """Return what is written into a file."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / name
        write(path)
        return path.read_bytes()


FILES: dict[str, Callable[[Session, State], str | bytes]] = {
    "figure.svg": _svg,
    "figure.png": _png,
    "bins.csv": _bins_csv,
    "rows.csv": _rows_csv,
    "report.html": _report,
}
