"""``ChainCRF`` for data on the workers of a Dask cluster."""

from __future__ import annotations

import inspect
import os
import sys
import uuid
from collections.abc import Mapping
from concurrent.futures import CancelledError
from typing import Any

from dualfield._deferred import explained

try:
    import dask.bag
    import distributed
    from dask.base import is_dask_collection
    from dask.delayed import delayed
    from distributed.client import FutureCancelledError
except ModuleNotFoundError as missing:
    raise explained(missing, "dualfield.distributed.dask") from missing

from dualfield.distributed.checkpoints import Checkpoints
from dualfield.distributed.dask.fitting import Pieces, lost, train_on_workers
from dualfield.distributed.dask.rank import count_positions, encode_bag_part, encode_part
from dualfield.distributed.training import Training
from dualfield.estimators.chain_crf import ChainCRF as LocalChainCRF
from dualfield.estimators.training import check_parameters
from dualfield.models.spec import ChainSpec
from dualfield.partitions import PartitionedData, open_partitions
from dualfield.ranks.communicator import TIME_LIMIT
from dualfield.reporting.training import warn_of_shortfall

__all__ = ["ChainCRF"]

_OF_THE_CLUSTER = ("client", "checkpoints", "resume", "time_limit", "n_workers")


class ChainCRF(LocalChainCRF):
    """A :class:`dualfield.ChainCRF` that is trained where the data are: on the workers of a Dask cluster.

    Each worker is one rank, on one thread. It trains on its pieces of the data, and workers exchange what they add to
    the weights several times a pass. The objective and the certificate are those of all data. The fitted estimator
    has the weights itself, and answers without the cluster.

    When a worker is lost, its pieces go to other workers, with their duals from the last checkpoint, or without
    checkpoints from the start; the other pieces keep theirs. The run goes on, and ends with a certificate all the
    same. A worker that hangs is named in an error after ``time_limit`` seconds, and its pieces go elsewhere too. Ctrl-C
    ends the run after its pass, with the certificate of what is reached.

    Parameters
    ----------
    client : distributed.Client, optional
        The cluster; by default the client that was made last.
    checkpoints : str or path, optional
        A folder that all workers reach, for the duals of their pieces.
    resume : bool
        Whether to go on from what ``checkpoints`` has.
    time_limit : float
        How many seconds workers wait for each other.
    n_workers : int, optional
        The most workers to use; by default all, and no more than there are pieces.
    **parameters
        Those of :class:`dualfield.ChainCRF`. ``n_jobs``, ``device``, ``warm_start``, ``ignore_label`` and
        ``standardize`` keep their defaults here; ``solver`` is "auto", "oeg" or "lbfgs".

    Examples
    --------
    >>> from dask.distributed import Client
    >>> from dualfield.distributed.dask import ChainCRF
    >>> pieces = [([[["a"], ["b"]]], [["X", "Y"]]), ([[["b"], ["c"]]], [["Y", "Y"]])]
    >>> with Client(n_workers=2, threads_per_worker=1, processes=False, dashboard_address=":0") as client:
    ...     crf = ChainCRF(client, l2=0.5, random_state=0).fit(client.scatter(pieces))
    >>> crf.predict([[["a"], ["b"]]]), crf.solution_.certificate
    ([['X', 'Y']], 'exact')
    """

    client: Any
    checkpoints: str | os.PathLike[str] | None
    resume: bool
    time_limit: float
    n_workers: int | None

    def __init__(
        self,
        client: Any = None,
        *,
        checkpoints: str | os.PathLike[str] | None = None,
        resume: bool = False,
        time_limit: float = TIME_LIMIT,
        n_workers: int | None = None,
        **parameters: Any,
    ) -> None:
        super().__init__(**parameters)
        self.client, self.checkpoints, self.resume = client, checkpoints, resume
        self.time_limit, self.n_workers = time_limit, n_workers

    def fit(self, X: Any, y: None = None) -> ChainCRF:  # type: ignore[override]
        """Train on the workers.

        Parameters
        ----------
        X : folder, bag, or list of futures or delayed objects
            A folder of partitions that all workers reach under one path, as a path or opened; a Dask bag of pairs
            ``(sequence, labels)``; or pieces ``(X, y)`` or ``(X, y, sample_weight)``, which stay where they are.
            Attributes and labels of all pieces are merged.
        y : None
            The labels are in X.

        Returns
        -------
        self
        """
        if y is not None:
            raise TypeError("y was given, but X has the labels here: a folder, a bag of (sequence, labels), or pieces.")
        self._check()
        client = self._client()
        pieces = _pieces(client, X)
        spec = ChainSpec.of(self)
        features = None
        if pieces.folder is not None:
            data = open_partitions(pieces.folder)
            features = data.column_features
            if spec.min_count not in (1, data.min_count):
                raise ValueError(
                    f"min_count={spec.min_count}, but {data.path} was made with min_count={data.min_count}; leave it "
                    "out, or make the folder anew."
                )
        asked = Training(spec, self.solver, self.tol, self.max_passes, self.random_state, self.class_weight, self.costs)
        checkpoints = None if self.checkpoints is None else Checkpoints(self.checkpoints, self.resume)
        topic = f"dualfield-{uuid.uuid4().hex[:12]}"
        if self.verbose:
            client.subscribe_topic(topic, _print)
        try:
            problem, solution = train_on_workers(
                client, pieces, asked, checkpoints, self.time_limit, self.n_workers, topic
            )
        finally:
            if self.verbose:
                client.unsubscribe_topic(topic)
        self._kept = None
        self._take(problem, solution)
        self.column_features_ = features
        warn_of_shortfall(solution, self.tol)
        return self

    def predict(self, X: Any, **options: Any) -> Any:
        """The best labels, as those of :class:`dualfield.ChainCRF`; of a bag of sequences a bag, yet to be computed."""
        if not isinstance(X, dask.bag.Bag):
            return super().predict(X, **options)
        return X.map_partitions(_labels, delayed(self.to_local()), options)

    def to_local(self) -> LocalChainCRF:
        """The same model as a :class:`dualfield.ChainCRF`, which knows of no cluster."""
        local = LocalChainCRF(
            **{name: value for name, value in self.get_params(deep=False).items() if name not in _OF_THE_CLUSTER}
        )
        for name, value in vars(self).items():
            if name.endswith("_"):
                setattr(local, name, value)
        return local

    def _plain_parameters(self) -> dict[str, Any]:
        plain = super()._plain_parameters()
        return {name: value for name, value in plain.items() if name not in _OF_THE_CLUSTER}

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "client": None}  # a connection is of one process

    def _check(self) -> None:
        """Refuse what has no place on a cluster, before any work."""
        check_parameters(self)
        for name in ("n_jobs", "device", "warm_start", "ignore_label", "standardize"):
            default = LocalChainCRF._defaults()[name]
            if getattr(self, name) != default:
                raise ValueError(f"{name}={getattr(self, name)!r} has no place on a cluster; leave it at {default!r}.")
        if not self.time_limit > 0:
            raise ValueError(f"time_limit must be a positive number of seconds; got {self.time_limit!r}.")
        if self.n_workers is not None and not self.n_workers >= 1:
            raise ValueError(f"n_workers must be a positive integer or None; got {self.n_workers!r}.")
        if self.resume and self.checkpoints is None:
            raise ValueError("resume=True goes on from checkpoints; name their folder by checkpoints=…")

    def _client(self) -> Any:
        client = self.client
        if client is None:
            try:
                client = distributed.default_client()
            except ValueError:
                raise ValueError(
                    "there is no Dask client; make one, as in client = dask.distributed.Client(), or give client=…"
                ) from None
        if not isinstance(client, distributed.Client):
            raise TypeError(f"client is of type {type(client).__name__}; expected a dask.distributed.Client.")
        if client.asynchronous:
            raise TypeError("the client is asynchronous; give one that was made with asynchronous=False.")
        return client


def _signature() -> inspect.Signature:
    """The parameters of the cluster and those of :class:`dualfield.ChainCRF`, by name."""
    own = [parameter for name, parameter in inspect.signature(ChainCRF).parameters.items() if name in _OF_THE_CLUSTER]
    others = inspect.signature(LocalChainCRF).parameters.values()
    by_name = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in others]
    return inspect.Signature([*own, *by_name])


ChainCRF.__signature__ = _signature()  # type: ignore[attr-defined]


def _pieces(client: Any, X: Any) -> Pieces:
    """The pieces of what was given, on their workers."""
    if isinstance(X, str | os.PathLike):
        X = open_partitions(X)
    if isinstance(X, PartitionedData):
        folder = os.path.abspath(X.path)
        return Pieces(
            folder, dict(zip(X.names, range(len(X)), strict=True)), dict(zip(X.names, X.position_counts, strict=True))
        )
    if isinstance(X, dask.bag.Bag):
        futures = client.compute([delayed(encode_bag_part)(part) for part in X.to_delayed()])
    elif isinstance(X, list | tuple) and X and all(map(_is_piece, X)):
        futures = [_encoded(client, piece) for piece in X]
    else:
        raise TypeError(
            f"X is of type {type(X).__name__}; expected a folder of partitions, a Dask bag of (sequence, labels), or a "
            "list of futures or delayed objects (X, y)."
        )
    sources = {f"piece-{number:05d}": future for number, future in enumerate(futures)}
    sizes = _sizes(client, sources)
    return Pieces(None, {name: source for name, source in sources.items() if name in sizes}, sizes)


def _sizes(client: Any, sources: Mapping[str, Any]) -> dict[str, int]:
    """How many positions each piece has that is not empty."""
    sizes = {}
    for name, counted in [(name, client.submit(count_positions, source)) for name, source in sources.items()]:
        try:
            size = counted.result()
        except (TypeError, ValueError) as error:
            raise type(error)(f"{name}: {error}") from None
        except (CancelledError, FutureCancelledError) as error:
            raise lost(name, error) from None
        if size:
            sizes[name] = size
    if not sizes:
        raise ValueError("X has no sequences; expected at least one.")
    return sizes


def _is_piece(piece: Any) -> bool:
    return isinstance(piece, distributed.Future) or is_dask_collection(piece)


def _encoded(client: Any, piece: Any) -> Any:
    if isinstance(piece, distributed.Future):
        return client.submit(encode_part, piece, pure=False)
    return client.compute(delayed(encode_part)(piece))


def _labels(part: Any, model: LocalChainCRF, options: dict[str, Any]) -> Any:
    listed = list(part)
    return list(model.predict(listed, **options)) if listed else []


def _print(event: tuple[float, dict[str, Any]]) -> None:
    _, told = event
    print(f"pass {told['pass']}: {told['seconds']:.1f} s, gap ≈ {told['gap']:.1e}", file=sys.stderr, flush=True)
