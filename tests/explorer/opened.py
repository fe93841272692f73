"""Explorers for tests, and requests to them."""

from http.client import HTTPConnection
from urllib.parse import quote, urlsplit

import numpy as np
import polars as pl
from models import EVIL, tempered

import calibrant as cal

QUICK = {"n_resamples": 99}


def written(folder, name="ward.csv", n=900):
    """Write predictions of an event, too high at night, with columns and hostile texts."""
    rng = np.random.default_rng(3)
    p, night = rng.beta(1, 2, n), rng.random(n) < 0.4
    frame = pl.DataFrame(
        {
            "prob": p.round(4),
            "label": (rng.random(n) < np.where(night, p**2, p)).astype(int),
            "shift": np.where(night, "night", "day"),
            "age": rng.integers(18, 90, n),
            "note": [EVIL[i % len(EVIL)] for i in range(n)],
        }
    )
    frame.write_csv(folder / name)
    return folder / name


def hostile():
    """Return a model whose classes have hostile names."""
    return tempered(400, 4, 2.0, list(EVIL))


def get(page, where="", headers=None, path=None):
    """Return the status, headers and text of an answer."""
    address = urlsplit(page.address)
    connection = HTTPConnection(address.hostname, address.port, timeout=60)
    target = address.path + quote(where, safe="/?&=:|,%+.") if path is None else path
    connection.request("GET", target, headers=headers or {})
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    return answer.status, dict(answer.getheaders()), body


def text(page, where=""):
    """Return the text of an answer that must be good."""
    status, _, body = get(page, where)
    assert status == 200, body[:500]
    return body.decode()


def explorer(data, **settings):
    """Open data in an explorer with few resamples."""
    return cal.explore(data, **{**QUICK, **settings})
