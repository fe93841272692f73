"""Reliability diagrams as scikit-learn's displays: from an estimator, predictions or folds."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, Self, cast, final
from weakref import WeakKeyDictionary, WeakSet

import numpy as np
from sklearn.utils import _safe_indexing as rows_of

from calibrant.checks.parameters import listed, one_of, whole
from calibrant.diagrams import ReliabilityDiagram, reliability_diagram
from calibrant.diagrams.reliability import Style
from calibrant.partitions import EqualMass, EqualWidth
from calibrant.predictions import Predictions
from calibrant.sklearn.responses import labelled, predictions_of

if TYPE_CHECKING:
    from calibrant.diagrams.static import Axes, Figure

Strategy = Literal["uniform", "quantile"]
STRATEGIES = {"uniform": EqualWidth, "quantile": EqualMass}

# What displays have drawn on an Axes: a further one joins them, in one picture with one legend.
_drawn: WeakKeyDictionary[Any, tuple[ReliabilityDiagram, WeakSet[Any]]] = WeakKeyDictionary()


@final
@dataclass(eq=False, repr=False)
class ReliabilityDisplay:
    """A reliability diagram with consistency limits, drawn as scikit-learn's displays are.

    Make one with `from_estimator`, `from_predictions` or `from_cv_results`. More of them on one
    Axes, ``ax=display.ax_``, share its legend.

    Parameters
    ----------
    diagram : ReliabilityDiagram
        What is drawn, as data.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where it is drawn.
    figure_ : matplotlib Figure
        The figure of it.
    prob_true, prob_pred : list of arrays
        Of each curve: how often the event occurred in every bin, and the mean prediction.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.naive_bayes import GaussianNB
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = GaussianNB().fit(X[::2], y[::2])
    >>> display = ReliabilityDisplay.from_estimator(model, X[1::2], y[1::2])
    >>> display
    <ReliabilityDisplay of GaussianNB: 2 of 8 bins are significant at 5% (family-wise)>
    """

    diagram: ReliabilityDiagram
    ax_: "Axes" = field(init=False)
    figure_: "Figure" = field(init=False)
    prob_true: list[Any] = field(init=False)
    prob_pred: list[Any] = field(init=False)

    def __post_init__(self) -> None:
        bins = [(one.function, (one.shown, self.diagram.event)) for one in self.diagram.series]
        self.prob_true = [function.observed[shown] for function, shown in bins]
        self.prob_pred = [function.predicted[shown] for function, shown in bins]

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,  # noqa: N803
        y: Any,
        *,
        n_bins: int = 10,
        strategy: Strategy = "uniform",
        pos_label: Any = None,
        name: str | None = None,
        ax: "Axes | None" = None,
        **kwargs: Any,
    ) -> Self:
        """Draw what a fitted classifier says of rows that it was not fitted to.

        Parameters
        ----------
        estimator : classifier
            With `predict_proba`, fitted.
        X, y : array_like
            Rows and their labels.
        n_bins : int, default 10
            Number of bins.
        strategy : {"uniform", "quantile"}, default "uniform"
            Bins of equal width, or of equal mass.
        pos_label : label, optional
            Of two classes the event; default: the second one. Of more, the predicted class is
            drawn, or what `lens` says.
        name : str, optional
            In the legend; default: the class of the estimator.
        ax : matplotlib Axes, optional
            Where to draw; default: a new figure.
        **kwargs
            `style` and `ref_line` of `plot`; `lens`, `level`, `n_resamples` and `rng` of
            `reliability_diagram`.
        """
        data = predictions_of(estimator, X, y, pos_label)
        return cls._drawn({name or type(estimator).__name__: data}, n_bins, strategy, ax, kwargs)

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        y_prob: Any,
        *,
        n_bins: int = 10,
        strategy: Strategy = "uniform",
        pos_label: Any = None,
        name: str | None = None,
        ax: "Axes | None" = None,
        **kwargs: Any,
    ) -> Self:
        """Draw probabilities and labels.

        Parameters
        ----------
        y_true : array_like of shape (n,)
            Labels.
        y_prob : array_like of shape (n,) or (n, m)
            Probabilities of `pos_label`, or of every class in the order of the sorted labels.
        n_bins, strategy, pos_label, name, ax, **kwargs
            As in `from_estimator`.
        """
        probs = np.asarray(y_prob)
        data = labelled(probs, y_true, _classes(y_true, probs), pos_label)
        return cls._drawn({name or "Classifier": data}, n_bins, strategy, ax, kwargs)

    @classmethod
    def from_cv_results(
        cls,
        cv_results: Mapping[str, Any],
        X: Any,  # noqa: N803
        y: Any,
        *,
        n_bins: int = 10,
        strategy: Strategy = "uniform",
        pos_label: Any = None,
        name: str | list[str] | None = None,
        ax: "Axes | None" = None,
        **kwargs: Any,
    ) -> Self:
        """Draw a curve for each fold, of the rows that its estimator has not seen.

        Parameters
        ----------
        cv_results : dict
            Of `cross_validate` with ``return_estimator=True`` and ``return_indices=True``.
        X, y : array_like
            The rows and labels that it was called with.
        name : str or list of str, optional
            What folds are called, all or one by one; default: "fold".
        n_bins, strategy, pos_label, ax, **kwargs
            As in `from_estimator`.
        """
        if not {"estimator", "indices"} <= set(cv_results):
            raise ValueError(
                "`cv_results` must have 'estimator' and 'indices': call cross_validate with"
                " return_estimator=True and return_indices=True."
            )
        folds = zip(cv_results["estimator"], cv_results["indices"]["test"], strict=True)
        found = [
            predictions_of(one, rows_of(X, test), rows_of(y, test), pos_label)
            for one, test in folds
        ]
        each = [f"{name or 'fold'} {i}" for i in range(len(found))]
        names = name if isinstance(name, list) else each
        if len(set(names)) != len(found):
            raise ValueError(f"`name` must name the {len(found)} folds; found {listed(names)}.")
        return cls._drawn(dict(zip(names, found, strict=True)), n_bins, strategy, ax, kwargs)

    @classmethod
    def _drawn(
        cls,
        models: Mapping[str, Predictions],
        n_bins: int,
        strategy: Strategy,
        ax: "Axes | None",
        kwargs: dict[str, Any],
    ) -> Self:
        """Compute the diagram and draw it."""
        one_of("strategy", strategy, STRATEGIES)
        partition, how = STRATEGIES[strategy](whole("n_bins", n_bins, least=1)), dict(kwargs)
        look = {name: how.pop(name) for name in ("style", "ref_line") if name in how}
        how.setdefault("rng", 0)
        if max(data.m for data in models.values()) > 2:
            how.setdefault("lens", "top")
        return cls(reliability_diagram(models, partition=partition, **how)).plot(ax, **look)

    def plot(
        self, ax: "Axes | None" = None, *, style: Style = "line", ref_line: bool = True
    ) -> Self:
        """Draw the diagram, beside others that are on the Axes.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; default: a new figure.
        style : {"line", "bars"}, default "line"
            "line": points that a line joins, as scikit-learn draws them. "bars": frequency and gap
            of each bin, of one model.
        ref_line : bool, default True
            Whether to draw the line of a calibrated model.
        """
        from calibrant.diagrams import static  # noqa: PLC0415 (loads matplotlib)

        others = [] if ax is None else _artists(ax)
        diagram = _with_earlier(self.diagram, ax, others)
        picture = diagram.picture(style=style)
        kept = (part for part in picture.parts if ref_line or getattr(part, "look", "") != "zero")
        picture = replace(picture, parts=tuple(kept))
        self.ax_ = static.draw(picture, ax)
        self.figure_ = cast("Figure", self.ax_.figure)
        _drawn[self.ax_] = diagram, WeakSet(a for a in _artists(self.ax_) if a not in others)
        return self

    def __repr__(self) -> str:
        names = listed([series.name for series in self.diagram.series], 3)
        found = str(self.diagram).partition(": ")[2]
        return f"<{type(self).__name__} of {names.replace(chr(39), '')}: {found}>"


def _classes(y_true: Any, probs: Any) -> Any:
    """Return the sorted labels; of 0, …, m - 1 all, also where only some occur."""
    found = np.unique(np.asarray(y_true))
    places = range(probs.shape[1] if probs.ndim == 2 else 2)
    return np.array(places, found.dtype) if set(found.tolist()) <= set(places) else found


def _artists(ax: "Axes") -> list[Any]:
    """Return what is drawn on an Axes and can be removed."""
    legend = filter(None, [ax.get_legend()])
    return [*ax.lines, *ax.collections, *ax.patches, *ax.texts, *legend]


def _with_earlier(diagram: ReliabilityDiagram, ax: Any, artists: list[Any]) -> ReliabilityDiagram:
    """Return a diagram joined to what displays have drawn on an Axes, which is taken down."""
    before, earlier = _drawn.get(ax, (diagram, ())) if artists else (diagram, ())
    mine = [artist for artist in artists if artist in earlier]  # none if the Axes was cleared
    joined = _joined(before, diagram) if mine else diagram
    for artist in mine:
        artist.remove()
    return joined


def _joined(before: ReliabilityDiagram, new: ReliabilityDiagram) -> ReliabilityDiagram:
    """Return the curves of both in one diagram.

    Histograms between other edges cannot lie on each other: there are none then.
    """
    a, b = (f"{one.classes} at level {one.settings['level']:g}" for one in (before, new))
    if (a, before.event) != (b, new.event):
        raise ValueError(
            f"displays on one Axes must be about the same outcome at the same level; found {a} and"
            f" {b}."
        )
    series, edges = (*before.series, *new.series), new.edges
    if not np.array_equal(before.edges, edges):
        series = tuple(replace(one, histogram=None) for one in series)
        edges = np.array([min(before.edges[0], edges[0]), max(before.edges[-1], edges[-1])])
    return replace(new, series=series, edges=edges)
