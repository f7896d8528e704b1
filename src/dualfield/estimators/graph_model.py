"""The common part of ``GraphCRF`` and ``GridCRF``: training and prediction on encoded graphs."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import replace
from itertools import pairwise
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from dualfield.core_arrays import check_sample_weight
from dualfield.driver import Callback
from dualfield.estimators.contract import StructuredEstimator
from dualfield.estimators.smoothing import default_edge_l2, warn_of_smoothing
from dualfield.estimators.training import check_parameters, train
from dualfield.estimators.void_nodes import Labelled, codes_and_void, without_void
from dualfield.features import EncodedGraphs, EncodedGrids, GridEncoding, NumberedColumns, Vocabulary
from dualfield.fields import Graph, PseudoLikelihood
from dualfield.fields.base import Choice
from dualfield.fields.graph import GraphInference
from dualfield.given_numbers import check_integer
from dualfield.labels.unknown_labels import warn_of_masking_label
from dualfield.memory import check_labellings
from dualfield.models import GraphLayout, graph_file
from dualfield.models.model_file import Arrays
from dualfield.models.schema import Contents
from dualfield.models.stored_model import StoredModel, solution_of
from dualfield.random_state import check_random_state
from dualfield.scikit_learn import check_fitted, convergence_warning
from dualfield.solution import Solution
from dualfield.solvers import resolve
from dualfield.solving import solve
from dualfield.threads import on_threads

__all__ = ["GraphModel", "cut_nodes"]

_TOLERANCE_OF_LABELS = 1e-4  # the change of messages in a sweep that no longer changes labels
_MOST_MESSAGES = 500_000  # nodes times squared labels, up to which "auto" trains with approximate inference
_PREDICTIONS = ("auto", "map", "max-marginals")


class GraphModel(StructuredEstimator, StoredModel):
    """A conditional random field on graphs; subclasses say what X is.

    ``GraphCRF`` explains the parameters.
    """

    l2: float
    inference: str
    edge_weights: str
    bias: bool
    edge_l2: float | None
    prediction: str
    table_budget: int
    damping: float
    max_sweeps: int
    inference_tol: float
    warm_start: bool
    ignore_label: str | int | None

    classes_: npt.NDArray[Any]
    vocabulary_: Vocabulary | NumberedColumns
    layout_: GraphLayout
    weights_: npt.NDArray[np.float64]
    solution_: Solution

    @abstractmethod
    def _training_data(self, X: Any) -> EncodedGraphs | EncodedGrids:
        """X as a field takes it."""

    @abstractmethod
    def _later_data(self, X: Any) -> EncodedGraphs | EncodedGrids:
        """X encoded as in training, or refused."""

    @abstractmethod
    def _cut(self, flat: npt.NDArray[Any], data: Any) -> list[npt.NDArray[Any]]:
        """An array with an entry per node, cut into one array per member of X."""

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: npt.ArrayLike | None = None,
        *,
        callbacks: Iterable[Callback] | Callback = (),
        start: npt.ArrayLike | None = None,
    ) -> Self:
        """Train on labelled graphs or images.

        Parameters
        ----------
        X : list, or what ``encode`` returned
            See the class.
        y : list of arrays
            Strings or integers, one per node or pixel. Boolean masks have the labels 0 and 1.
        sample_weight : array, shape (n,), optional
            Weight of each loss; zero is allowed.
        callbacks : iterable of callables
            Called with a ``Progress`` after every pass; one that returns True ends training.
        start : array, optional
            Weights to begin at, as in ``weights_`` of a model of the same layout. By default zero, except that "bp"
            and "mean_field", whose objectives are not convex, begin at the weights of the pseudo-likelihood, which
            gets at most ``max_passes`` of its own: from zero they may end far from any good minimum. Methods on the
            dual have no such start.

        Returns
        -------
        self
        """
        check_parameters(self)
        self._check_prediction()
        inference = self._inference()  # checks the parameters of inference even where training needs none
        data = self._training_data(X)
        known, y, sample_weight = without_void(Labelled(data, y, sample_weight), self.ignore_label)
        options: dict[str, Any] = {
            "edge_l2": self.edge_l2,
            "edge_weights": self.edge_weights,
            "bias": self.bias,
            "sample_weight": sample_weight,
        }
        graphs = known.graphs if isinstance(known, EncodedGrids) else known
        field: Graph | PseudoLikelihood | None = None
        if self.inference != "pseudo_likelihood":
            field = Graph(
                known,
                y,
                self.l2,
                **options,
                inference=inference.method,
                table_budget=inference.table_budget,
                damping=inference.damping,
                max_sweeps=inference.max_sweeps,
                inference_tol=inference.tolerance,
            )
        too_large = self.inference == "auto" and field is not None and _is_large(field)
        if field is None or too_large:
            if self.edge_l2 is None and not _has_given_edge_features(data):
                options["edge_l2"] = default_edge_l2(self.l2, graphs.n_edges)
            field = PseudoLikelihood(known, y, self.l2, **options)
            if too_large:
                name, reason = field.default_solver[:2]
                why = "exact inference passes the budget and 'trw' would take long, so this is the pseudo-likelihood"
                field.default_solver = Choice(name, f"{why}, and {reason}")

        warn_of_masking_label(field.classes)

        def weights() -> npt.ArrayLike | None:
            if start is not None or field.convex:
                return start
            return self._likely(field, PseudoLikelihood(known, y, self.l2, **options))

        self.solution_ = train(self, field, callbacks, weights)
        self.classes_, self.layout_, self.weights_ = field.classes, field.layout, self.solution_.weights
        self.vocabulary_ = graphs.vocabulary or NumberedColumns(graphs.n_attributes)
        if isinstance(data, EncodedGrids):
            self._take_encoding(data.encoding)
        if self.solution_.status == "converged" and not (isinstance(field, Graph) and field.exact):
            core, used = self._inference(labels=True).compile(self.layout_.arguments(graphs), field.member)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", convergence_warning())  # of messages; predicting tells of them
                predicted = self._codes(core, used.exact)
            warn_of_smoothing(field, graphs, predicted)
        return self

    def _likely(self, field: Graph | PseudoLikelihood, alike: PseudoLikelihood) -> npt.NDArray[np.float64] | None:
        """The weights of the largest pseudo-likelihood, for a solver that makes use of a start; their time counts."""
        solver = resolve(self.solver, field.default_solver)
        solver.check(field)
        if "marginals" not in solver.needs:
            return None
        found = solve(alike, "lbfgs", tol=self.tol, max_passes=self.max_passes)
        field.preparation = field.preparation[0] + found.seconds, field.preparation[1] + found.cpu_seconds
        return found.weights

    def _stored(self) -> tuple[npt.NDArray[np.float64], Arrays, dict[str, Any]]:
        description = graph_file.description_of(self.layout_, getattr(self, "encoding_", None))
        names = self.vocabulary_.to_bytes_arrays() if isinstance(self.vocabulary_, Vocabulary) else {}
        return self.weights_, dict(names), {"parameters": self._plain_parameters(), **description}

    @classmethod
    def _of_contents(cls, contents: Contents) -> Self:
        crf = cls._of_parameters(contents.description["parameters"])
        crf._inference()  # refuses what predicting would refuse
        crf._check_prediction()
        crf.layout_ = graph_file.layout_of(contents)
        crf.vocabulary_ = graph_file.vocabulary_of(contents, crf.layout_)
        encoding = graph_file.encoding_of(contents, crf.layout_)
        if encoding is not None:
            crf._take_encoding(encoding)
        crf.classes_ = np.array(contents.labels)
        crf.weights_ = contents.array("weights").astype(np.float64, copy=False)
        crf.solution_ = solution_of(contents, crf.weights_)
        return crf

    def _take_encoding(self, encoding: GridEncoding) -> None:
        """Keep how images were encoded, for images to come."""
        raise TypeError(f"{type(self).__name__} has graphs, not images.")

    @property
    def node_weights_(self) -> npt.NDArray[np.float64]:
        """The weights of (node feature, label) pairs, shape (d, K)."""
        return self._part("node")

    @property
    def edge_weights_(self) -> npt.NDArray[np.float64]:
        """For each edge feature the matrix of (first label, second label) weights, shape (De, K, K).

        Without edge features there is one matrix.
        """
        return self._part("edge")

    @property
    def bias_(self) -> npt.NDArray[np.float64]:
        """The weights of labels, shape (K,); zero without bias."""
        return self._part("bias")

    def _part(self, name: str) -> npt.NDArray[np.float64]:
        if not self.__sklearn_is_fitted__():
            raise AttributeError(f"{name} weights appear in fit; this {type(self).__name__} is not fitted yet.")
        return self.layout_.split(self.weights_).get(name, np.zeros(len(self.classes_)))

    def predict(self, X: Any) -> list[npt.NDArray[Any]]:
        """The labels of each member of X, an array like its part of y; ``prediction`` says by which rule."""
        data, core, inference = self._compiled(X, labels=True)
        return self._cut(self.classes_[self._codes(core, inference.exact)], data)

    def predict_marginals(self, X: Any) -> list[npt.NDArray[np.float64]]:
        """The probability of each label at each node, one array with a last axis of length K per member of X.

        With approximate inference these are its pseudo-marginals; :meth:`converged` says where they are settled.
        """
        data, core, inference = self._compiled(X)
        return self._cut(self._marginals(core, inference.exact), data)

    def predict_proba(self, X: Any) -> list[npt.NDArray[np.float64]]:
        """The same as :meth:`predict_marginals`, by scikit-learn's name."""
        return self.predict_marginals(X)

    def sample(
        self, X: Any, n: int = 1, random_state: int | np.random.RandomState | None = None
    ) -> list[npt.NDArray[Any]]:
        """``n`` independent labellings of each member of X, drawn from ``p(y | x)``, stacked; exact inference only."""
        n = check_integer("n", n, 0, "an integer, not negative")
        data, core, inference = self._compiled(X)
        if not inference.exact:
            raise ValueError(
                f"sampling needs exact inference but here it is {inference.method!r}; "
                "call set_params(inference='junction_tree')."
            )
        graphs = data.graphs if isinstance(data, EncodedGrids) else data
        check_labellings(n, graphs.n_nodes, "A sample")
        seeds = check_random_state(random_state).randint(np.iinfo(np.int32).max, size=core.blocks)
        draws = [core.sample(self.weights_, i, int(n), int(seed)) for i, seed in enumerate(seeds)]
        flat = np.concatenate([codes.T for codes in draws]) if draws else np.empty((0, int(n)), dtype=np.int32)
        return [np.moveaxis(labels, -1, 0) for labels in self._cut(self.classes_[flat], data)]

    def score(self, X: Any, y: Any, sample_weight: npt.ArrayLike | None = None) -> float:
        """The share of nodes labelled correctly; those of ``ignore_label`` are left out.

        A label unseen in training counts as an error, with a warning.
        """
        data, core, inference = self._compiled(X, labels=True)
        shapes = data.shapes if isinstance(data, EncodedGrids) else None
        sizes = (data.graphs if isinstance(data, EncodedGrids) else data).sizes
        if len(sizes) == 0:
            raise ValueError("X has nothing to score.")
        codes, void = codes_and_void(y, sizes, shapes, self.classes_, self.ignore_label)
        if void.all():
            raise ValueError("y has no known labels to score.")
        unseen = int((codes < 0).sum() - void.sum())
        if unseen:
            warnings.warn(
                f"{unseen} label{'' if unseen == 1 else 's'} of y did not occur in training; counted as errors.",
                UserWarning,
                stacklevel=2,
            )
        weights = check_sample_weight(sample_weight, len(sizes), "graph" if shapes is None else "image")
        right = self._codes(core, inference.exact) == codes
        weight = np.ones(len(codes)) if weights is None else np.repeat(weights, sizes)
        return float(np.average(right, weights=weight * ~void))

    def inference_for(self, X: Any) -> str:
        """By which inference X is predicted: "junction_tree", "bp", "trw" or "mean_field".

        It is the one of training. "auto", and the pseudo-likelihood, which is no inference, stand for "junction_tree"
        where all of X fits ``table_budget`` and otherwise for "trw".
        """
        return self._compiled(X)[2].method

    def converged(self, X: Any) -> npt.NDArray[np.bool_]:
        """For each member of X, whether inference converges on it; exact inference always does."""
        _, core, inference = self._compiled(X)
        if inference.exact:
            return np.ones(core.blocks, dtype=np.bool_)
        return self._found(core.infer, core)[2]

    def _codes(self, core: Any, exact: bool) -> npt.NDArray[Any]:
        self._check_prediction()
        if self.prediction == "map" or (self.prediction == "auto" and exact):
            return self._found(core.decode, core)
        return self._marginals(core, exact).argmax(axis=1)

    def _marginals(self, core: Any, exact: bool) -> npt.NDArray[np.float64]:
        """The marginals of all nodes, with a warning where approximate inference has not settled."""
        if exact:
            return self._found(core.marginals, core)
        marginals, _, converged = self._found(core.infer, core)
        unsettled = int((~converged).sum())
        if unsettled:
            warnings.warn(
                f"Inference did not converge on {unsettled} of {core.blocks} members of X, whose marginals are what "
                "the last sweep left; converged(X) says which; raise max_sweeps or damping.",
                convergence_warning(),
                stacklevel=4,
            )
        return marginals

    def _found(self, answer: Any, core: Any) -> Any:
        """``answer(weights, first, last, threads)`` of the core for all blocks."""
        return on_threads(lambda threads: answer(self.weights_, 0, core.blocks, threads), self.n_jobs)

    def _compiled(self, X: Any, *, labels: bool = False) -> tuple[Any, Any, GraphInference]:
        """The encoded data, the compiled field over it, and its inference: for labels, less accurate marginals do."""
        check_fitted(self)
        data = self._later_data(X)
        arguments = self.layout_.arguments(data.graphs if isinstance(data, EncodedGrids) else data)
        member = "image" if isinstance(data, EncodedGrids) else "graph"
        core, inference = self._inference(labels=labels).compile(arguments, member)
        return data, core, inference

    def _inference(self, *, labels: bool = False) -> GraphInference:
        """The inference for predictions on X. The pseudo-likelihood trains without any; predictions then use "auto"."""
        method = "auto" if self.inference == "pseudo_likelihood" else self.inference
        if method not in ("auto", "junction_tree", "bp", "trw", "mean_field"):
            raise ValueError(
                "inference must be 'auto', 'junction_tree', 'bp', 'trw', 'mean_field' or 'pseudo_likelihood'; "
                f"got {method!r}."
            )
        inference = GraphInference(method, self.table_budget, self.damping, self.max_sweeps, self.inference_tol)
        return replace(inference, tolerance=max(inference.tolerance, _TOLERANCE_OF_LABELS)) if labels else inference

    def _check_prediction(self) -> None:
        if self.prediction not in _PREDICTIONS:
            raise ValueError(f"prediction must be 'auto', 'map' or 'max-marginals'; got {self.prediction!r}.")


def _has_given_edge_features(data: EncodedGraphs | EncodedGrids) -> bool:
    """Whether edges have features that a user gave, beyond a constant and those that GridCRF makes of the pixels."""
    if isinstance(data, EncodedGrids):
        return data.encoding.edge_features == "given"
    return data.edge_features is not None


def _is_large(field: Graph | PseudoLikelihood) -> bool:
    """Whether approximate inference takes so long that "auto" avoids it; docs/guides/graphs-and-images.md has it."""
    return not field.exact and len(field.codes) * len(field.classes) ** 2 > _MOST_MESSAGES


def cut_nodes(flat: npt.NDArray[Any], graphs: EncodedGraphs) -> list[npt.NDArray[Any]]:
    """An array with an entry per node, cut at the ends of the graphs."""
    return [flat[a:b] for a, b in pairwise(graphs.offsets.tolist())]
