"""A small server on this machine. Nothing is asked of it without its token, and nothing changed.

The standard library's server is enough for one person and needs nothing installed. Addresses begin
with a random token, which whoever started the explorer knows; requests that lack it, name another
host or are fetched by a page of another origin are refused.
"""

import csv
import io
import os
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from html import escape
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from multiprocessing.pool import ThreadPool
from pathlib import Path
from secrets import compare_digest, token_urlsafe
from socket import MSG_PEEK
from tempfile import TemporaryDirectory
from time import monotonic
from typing import Any, final
from urllib.parse import parse_qsl, urlsplit

from calibrant.diagrams import reliability_diagram
from calibrant.explorer.pages import IMAGES, PANELS, Pages, look, row_table, selected_rows
from calibrant.explorer.session import Session
from calibrant.explorer.state import State
from calibrant.inference.replicates.problem import Progress
from calibrant.reporting import report

LOCAL = "127.0.0.1"
AT_ONCE = 4  # threads that compute, so that memory which one frees is used again; others wait
PATIENCE, PAUSE = 0.7, 0.4  # seconds before the first word of progress, and between two
LARGEST_IMAGE = 20_000_000  # bytes
MOST_CSV = 100_000  # rows
TYPES = IMAGES | {".csv": "text/csv", ".svg": "image/svg+xml"}


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
        self.token = token_urlsafe(24)
        handler = type("ExplorerHandler", (Handler,), {"explorer": self})
        self.server = _listen(host, port, handler)
        self.workers = ThreadPool(AT_ONCE)
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
        self.workers.close()

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
    begun = False  # whether headers were sent
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
        except ConnectionError:  # the browser has left
            self.close_connection = True
        except Exception as error:  # a fault of ours must not end the answer without a word
            self._send(*_sentence(error))

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
        """Send a page, one of its panels, or a file."""
        here = self.explorer
        if page == "image":
            self._image(given)
            return
        if page not in ANSWERS:
            self._send("There is no such page.", HTTPStatus.NOT_FOUND)
            return
        state = here.session.tidy(State.of(given))
        body = here.workers.apply(self._computed, (page, state, given))
        name = f"calibrant-{page}" if page in FILES else ""
        self._send(body, kind=TYPES.get(Path(page).suffix, "text/html"), name=name)

    def _computed(self, page: str, state: State, given: dict[str, str]) -> str | bytes:
        """Return the page, panel or file, if somebody waits for it."""
        self._go_on()
        here, progress = self.explorer, self._progress() if "live" in given else None
        if page in FILES:
            return FILES[page](here.session, state)
        if page:
            return here.pages.panel(page.removeprefix("panel/"), state, progress)
        return here.pages.whole(state, complete="complete" in given)

    def _progress(self) -> Progress:
        """Return what work reports to: the answer begins with how much of it is done."""
        due = monotonic() + PATIENCE

        def report_share(done: int, total: int) -> None:
            nonlocal due
            self._go_on()
            if monotonic() < due:
                return
            due = monotonic() + PAUSE
            self._begin(HTTPStatus.OK, "text/html", {})
            share = f'aria-label="Progress" value="{done / max(1, total):.3f}"'
            self.wfile.write(f"<progress {share}></progress>\n".encode())

        return report_share

    def _go_on(self) -> None:
        """End work that nobody waits for: the browser closes what is outdated."""
        self.connection.settimeout(0)
        try:
            with suppress(BlockingIOError):  # it waits
                if not self.connection.recv(1, MSG_PEEK):
                    raise ConnectionAbortedError
        finally:
            self.connection.settimeout(self.timeout)

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
        self._send(path.read_bytes(), kind=TYPES[path.suffix.lower()])

    def _send(
        self,
        body: str | bytes,
        status: HTTPStatus = HTTPStatus.OK,
        kind: str = "text/plain",
        name: str = "",
    ) -> None:
        """Send an answer; where it has begun, its end."""
        found = body.encode() if isinstance(body, str) else body
        more = {"Content-Length": str(len(found))}
        if name:
            more["Content-Disposition"] = f'attachment; filename="{name}"'
        if self.begun and status != HTTPStatus.OK:
            found = f'<p class="trouble" role="alert">{escape(found.decode())}</p>'.encode()
        with suppress(ConnectionError):  # the browser has left
            self._begin(status, kind, more)
            self.wfile.write(found)

    def _begin(self, status: HTTPStatus, kind: str, more: Mapping[str, str]) -> None:
        """Send the headers of an answer, once."""
        if self.begun:
            return
        self.begun = True
        self.send_response(status)
        headers = {
            "Content-Type": f"{kind}; charset=utf-8",
            "Content-Security-Policy": self.explorer.pages.policy,
            "X-Content-Type-Options": "nosniff",
            "Referrer-Policy": "no-referrer",
            "Cache-Control": "no-store",
            "Cross-Origin-Resource-Policy": "same-origin",
            **more,
        }
        for each in headers.items():
            self.send_header(*each)
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        """Say nothing: requests hold the token."""


def _sentence(error: Exception) -> tuple[str, HTTPStatus]:
    """Return what is said of an error."""
    if isinstance(error, ValueError | TypeError | IndexError):
        return str(error).replace("`", ""), HTTPStatus.BAD_REQUEST
    if isinstance(error, MemoryError):
        return "There is not enough memory for this.", HTTPStatus.INSUFFICIENT_STORAGE
    failed = f"The explorer failed: {type(error).__name__}: {error}"
    return failed, HTTPStatus.INTERNAL_SERVER_ERROR


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
    of_groups = state.lens.startswith("groups:") and not session.two(state)
    settings = {"region": state.region or None, **session.draws}
    settings["groups"] = state.lens if of_groups else None
    return _written("report.html", lambda path: report(data, path, **settings))


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
ANSWERS = {"", *FILES, *(f"panel/{name}" for name in PANELS)}
