"""``Trainer``: python-crfsuite's class over dualfield's solvers."""

from __future__ import annotations

import operator
import os
import warnings
from typing import Any, Self

import numpy as np

from dualfield.compat.crfsuite.appended import Appended
from dualfield.compat.crfsuite.parameters import ALGORITHMS, Parameter, asked
from dualfield.compat.crfsuite.training import pose, train
from dualfield.compat.pycrfsuite.log_parser import TrainLogParser
from dualfield.compat.pycrfsuite.messages import HeldOut, Messages
from dualfield.estimators import ChainCRF
from dualfield.io.atomic import check_writable

__all__ = ["BaseTrainer", "Trainer"]

_LONG_NAMES = {"averaged-perceptron": "ap", "passive-aggressive": "pa"}


class BaseTrainer:
    """A trainer whose ``message`` prints every message as it comes; see :class:`Trainer`."""

    verbose: Any
    chain_crf_: ChainCRF
    _algorithm: str
    _given: dict[str, Any]
    _data: Appended

    def __new__(cls, *arguments: Any, **named: Any) -> Self:
        """The state is made here: subclasses of python-crfsuite's class may skip its ``__init__``."""
        trainer = super().__new__(cls)
        trainer._algorithm, trainer._given, trainer._data = "lbfgs", {}, Appended()
        trainer.verbose = None
        return trainer

    def __init__(
        self, algorithm: str | None = None, params: dict[str, Any] | None = None, verbose: bool = True
    ) -> None:
        if algorithm is not None:
            self.select(algorithm)
        if params is not None:
            self.set_params(params)
        self.verbose = verbose

    # --- data ---

    def append(self, xseq: Any, yseq: Any, group: int = 0) -> None:
        """Add a labelled sequence, which is encoded at once.

        Parameters
        ----------
        xseq : sequence of dicts or of lists of strings, or ItemSequence
            The attributes of each position, by python-crfsuite's conventions. Bytes are UTF-8.
        yseq : sequence of str
            The labels, one for each position.
        group : int
            The group that the sequence belongs to, for ``train(..., holdout=group)``.
        """
        self._data.append(xseq, yseq, operator.index(group))

    def clear(self) -> None:
        """Forget all sequences."""
        self._data = Appended()

    # --- parameters ---

    def select(self, algorithm: str, type: str = "crf1d") -> None:
        """Choose the algorithm; its parameters have their defaults then.

        Parameters
        ----------
        algorithm : {"lbfgs", "l2sgd", "ap", "averaged-perceptron", "pa", "passive-aggressive", "arow"}
            What is trained: see docs/guides/coming-from-crfsuite.md.
        type : {"crf1d"}
            The kind of model.
        """
        name = algorithm.lower()
        name = _LONG_NAMES.get(name, name)
        if name not in ALGORITHMS or type != "crf1d":
            raise ValueError(
                f"Bad arguments: algorithm={algorithm!r}, type={type!r}; expected one of {', '.join(ALGORITHMS)}, and "
                "'crf1d'."
            )
        self._algorithm, self._given = name, {}

    def params(self) -> list[str]:
        """The names of the algorithm's parameters."""
        return list(ALGORITHMS[self._algorithm])

    def set(self, name: str, value: Any) -> None:
        """Set a parameter; the value may be a number or its text."""
        parameter = self._parameter(name, f"{name} = {value}")
        self._given[name] = _as_type_of(name, parameter.default, value)

    def set_params(self, params: dict[str, Any]) -> None:
        """Set parameters by their names."""
        for name, value in params.items():
            self.set(name, value)

    def get(self, name: str) -> Any:
        """The value of a parameter."""
        parameter = self._parameter(name, f"{name} = ")
        return self._given.get(name, parameter.default)

    def get_params(self) -> dict[str, Any]:
        """The values of all parameters."""
        return {name: self.get(name) for name in self.params()}

    def help(self, name: str) -> str:
        """What a parameter does."""
        return self._parameter(name, name).help

    def _parameter(self, name: str, shown: str) -> Parameter:
        known = ALGORITHMS[self._algorithm]
        if name not in known:
            raise ValueError(f"Parameter not found: {shown}; {self._algorithm} has {', '.join(known)}.")
        return known[name]

    # --- training ---

    def train(self, model: str | os.PathLike[str], holdout: int = -1) -> None:
        """Train on the sequences and write the model, in CRFsuite's format.

        ``chain_crf_`` is then the trained :class:`dualfield.ChainCRF`, whose ``solution_`` says how close to the
        optimum it is proven to be.

        Parameters
        ----------
        model : str or path
            The file to write; none is written where it is empty.
        holdout : int
            The group whose sequences are not trained on. The messages say how every iteration does on them.
        """
        path, holdout = os.fspath(model), operator.index(holdout)
        what = asked(self._algorithm, self._given)
        if path:
            check_writable(path)
        self._before_train()
        classes = sorted(self._data.labels)
        training, held_out = self._data.split(holdout, classes) if len(self._data) else (None, None)
        if training is None:
            warnings.warn(
                "there are no sequences to train on, so no model was made; append some"
                + (f" of another group than {holdout}, which is held out." if len(self._data) else "."),
                stacklevel=2,
            )
            return
        messages = Messages(self.message, "Epoch" if self._algorithm == "l2sgd" else "Iteration")
        parameters = self.get_params()
        messages.start(holdout, {name: value for name, value in parameters.items() if name.startswith("feature.")})
        zeros = lambda: self._data.zero_pairs(holdout, classes)  # noqa: E731 - wanted only now and then
        field = pose(what, training.encoded, training.codes, np.array(classes), zeros)
        messages.features(field.dimension)
        messages.prepared(
            f"{self._algorithm}, trained by dualfield",
            {name: value for name, value in parameters.items() if not name.startswith("feature.")},
            None if held_out is None else HeldOut(held_out, field, self._data.labels),
        )
        self.chain_crf_ = train(what, field, [messages])
        messages.end(self.chain_crf_.solution_)
        if path:
            self._store(path, messages, field.dimension)

    def _store(self, path: str, messages: Messages, n_features: int) -> None:
        crf = self.chain_crf_
        layout, weights = crf.layout_.without_zeros(crf.weights_)
        n_attributes = int(layout.without_empty_rows()[1].sum())
        messages.storing((len(weights), n_features), (n_attributes, self._data.n_attributes), len(crf.classes_))
        crf.export(path, "crfsuite")
        messages.stored()

    def _before_train(self) -> None:
        """For subclasses: training is about to begin."""

    def message(self, message: str) -> None:
        """Take a message of training: print it, where ``verbose`` says so. Subclasses may do something else."""
        if self.verbose:
            print(message, end="")


class Trainer(BaseTrainer):
    """Trains models as python-crfsuite's ``Trainer`` does: the same weights and objective, by dualfield's solvers.

    Parameters
    ----------
    algorithm : {"lbfgs", "l2sgd", "ap", "pa", "arow"}, optional
        As :meth:`select` takes it; "lbfgs" by default.
    params : dict, optional
        As :meth:`set_params` takes it.
    verbose : bool
        Whether the hooks ``on_start``, ``on_iteration`` and so on are called, which print what they are told unless a
        subclass has others.

    Attributes
    ----------
    logparser : TrainLogParser
        What the messages said; None before :meth:`train`.
    chain_crf_ : dualfield.ChainCRF
        The model, after :meth:`train`.

    Examples
    --------
    >>> import os, tempfile
    >>> from dualfield.compat import pycrfsuite
    >>> trainer = pycrfsuite.Trainer("lbfgs", {"c2": 0.1}, verbose=False)
    >>> trainer.append([{"w": "the"}, {"w": "cat"}], ["D", "N"])
    >>> trainer.append([["w:a"], ["w:dog"]], ["D", "N"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     trainer.train(os.path.join(folder, "m.crfsuite"))
    >>> trainer.chain_crf_.predict([[["w:the"], ["w:dog"]]]), trainer.logparser.featgen_num_features
    ([['D', 'N']], 5)
    """

    logparser: TrainLogParser | None = None

    def _before_train(self) -> None:
        self.logparser = TrainLogParser()

    def message(self, message: str) -> None:
        """Take a message of training, and call the hook of the event that it brings about."""
        assert self.logparser is not None
        event = self.logparser.feed(message)
        if event is None or not self.verbose:
            return
        log = self.logparser.last_log
        if event == "featgen_progress":
            self.on_featgen_progress(log, self.logparser.featgen_percent)
        elif event == "iteration":
            self.on_iteration(log, self.logparser.last_iteration)
        else:
            getattr(self, f"on_{event}")(log)

    def on_start(self, log: str) -> None:
        """Training was called."""
        print(log, end="")

    def on_featgen_progress(self, log: str, percent: int) -> None:
        """So much of the features is made."""
        print(log, end="")

    def on_featgen_end(self, log: str) -> None:
        """The features are made."""
        print(log, end="")

    def on_prepared(self, log: str) -> None:
        """The first iteration begins."""
        print(log, end="")

    def on_prepare_error(self, log: str) -> None:
        """Training could not begin; here an exception says so instead."""
        print(log, end="")

    def on_iteration(self, log: str, info: Any) -> None:
        """An iteration is over; ``info`` is as ``logparser.last_iteration``."""
        print(log, end="")

    def on_optimization_end(self, log: str) -> None:
        """Training is over."""
        print(log, end="")

    def on_end(self, log: str) -> None:
        """The model is written."""
        print(log, end="")


def _as_type_of(name: str, default: Any, value: Any) -> Any:
    """The value as its parameter has it; CRFsuite takes text, so numbers may come as such."""
    if isinstance(default, str):
        return str(value)
    rule = "a number" if isinstance(default, float) else "an integer" if not isinstance(default, bool) else "0 or 1"
    try:
        number = float(value)
        if not isinstance(default, float) and number != int(number):
            raise ValueError
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{name} must be {rule}; got {value!r}.") from None
    return type(default)(number) if isinstance(default, float | int) else number
