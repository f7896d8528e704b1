"""The rows of a run of L-BFGS on a GPU: what is done with whole vectors."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from dualfield.cuda.memory import check_gpu_memory
from dualfield.cuda.objective import Data, Objective
from dualfield.cuda.problem import problem_of
from dualfield.cuda.toolkit import program

__all__ = ["Engine"]

_BLOCKS = 264  # shares of a vector, two for each multiprocessor of an H100
_TOGETHER = 4  # rows that a block takes
_THREADS = 256

FloatArray = npt.NDArray[np.float64]


class Engine:
    """Rows of weights and gradients in float32, and evaluations at them.

    Parameters
    ----------
    field : Field
    rows : int
        Pairs of weights and gradients of the losses.
    device : str
        "cuda" or "cuda:N".
    data : Data, optional
        The arrays of the same problem, which are on the GPU already.
    """

    def __init__(self, field: Any, rows: int, device: str, data: Data | None = None) -> None:
        self._device = torch.device(device if ":" in device else f"cuda:{torch.cuda.current_device()}")
        self.name, self.rows, self.dimension = str(self._device), rows, field.dimension
        with torch.cuda.device(self._device):
            if data is None:
                problem = problem_of(field)
                free = torch.cuda.mem_get_info()[0]
                cached = torch.cuda.memory_reserved() - torch.cuda.memory_allocated()
                check_gpu_memory(problem, rows, free + cached)
                data = Data(problem, self._device)
            self.data = data
            self._objective = Objective(data, torch.float32)
            self._kernels = program("vectors", self._device.index, K=1, DOUBLE=0, HISTORY=rows)
            self._pitch = -(-self.dimension // 4) * 4
            self._w, self._u = (self._zeros(torch.float32, rows, self._pitch) for _ in range(2))
            self._shares = self._zeros(torch.float64, _BLOCKS * 4 * rows)
            self._answer = self._zeros(torch.float64, 4 * rows + 1)
            self._heard = torch.empty(4 * rows + 1, dtype=torch.float64, pin_memory=True)
            self._finished = self._zeros(torch.int32, 1)
            self._graphs: list[Any] = []
            self._record_graphs()

    def _zeros(self, dtype: Any, *shape: int) -> Any:
        return torch.zeros(shape, dtype=dtype, device=self._device)

    def look(self, row: int) -> tuple[float, FloatArray]:
        """The losses at a row, whose gradient is written, and its products with all rows, (rows, 4)."""
        with torch.cuda.device(self._device):
            self._graphs[row].replay()
            torch.cuda.current_stream().synchronize()
        found = self._heard.numpy()
        return float(found[-1]), found[:-1].reshape(self.rows, 4)

    def _launch(self, row: int) -> None:
        loss = self._objective.evaluate(self._w[row, : self.dimension], self._u[row, : self.dimension])
        arguments = [self._w, self._u, ctypes.c_longlong(self._pitch // 4), ctypes.c_int(row)]
        groups = (_BLOCKS, -(-self.rows // _TOGETHER))
        self._kernels.launch("products", groups, _THREADS, [*arguments, self._shares, self._answer, self._finished])
        self._answer[-1:].copy_(loss.reshape(1))
        self._heard.copy_(self._answer, non_blocking=True)

    def _record_graphs(self) -> None:
        """Record what a look at each row launches: thirty small kernels would cost the CPU more than the GPU."""
        self._launch(0)  # what is made at the first call is made outside
        pool = None
        for row in range(self.rows):
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph, pool=pool, capture_error_mode="thread_local"):
                self._launch(row)
            pool = graph.pool()
            self._graphs.append(graph)

    def combine(self, row: int, coefficients: FloatArray) -> None:
        """Write a combination of rows as weights of a row; a row whose coefficients are zero may hold anything."""
        given = (ctypes.c_double * len(coefficients))(*coefficients.tolist())
        places = [ctypes.c_longlong(self._pitch // 4), ctypes.c_int(row)]
        with torch.cuda.device(self._device):
            self._kernels.launch("combine", 4 * _BLOCKS, _THREADS, [self._w, self._u, *places, given])

    def exact(self, shares: dict[int, float]) -> tuple[list[tuple[float, float, float, float]], float]:
        """Evaluate rows again in float64.

        Returns
        -------
        values : list of (loss, ⟨u, w⟩, ‖w‖², size of the sums behind the loss)
            Of each row, in the order of ``shares``.
        square : float
            ``‖Σ_k share_k u_k‖²``.
        """
        with torch.cuda.device(self._device):
            objective = Objective(self.data, torch.float64)
            mixed, gradient = self._zeros(torch.float64, self.dimension), self._zeros(torch.float64, self.dimension)
            values = []
            for row, share in shares.items():
                w = self._w[row, : self.dimension].double()
                loss = objective.evaluate(w, gradient)
                values.append(torch.stack([loss, gradient @ w, w @ w, objective.magnitude()]))
                mixed.add_(gradient, alpha=share)
            square = float(mixed @ mixed)
            return [(a, b, c, d) for a, b, c, d in torch.stack(values).tolist()], square

    def weights(self, row: int) -> FloatArray:
        """A row of weights in the order of the field."""
        held = self._w[row, : self.dimension].cpu().numpy()
        if self.data.order is None:
            return held.astype(np.float64)
        weights = np.empty(self.dimension)
        weights[self.data.order] = held
        return weights

    def set_weights(self, row: int, weights: FloatArray) -> None:
        """Write a row of weights that come in the order of the field."""
        given = torch.tensor(weights if self.data.order is None else weights[self.data.order])
        self._w[row, : self.dimension] = given.to(self._device, torch.float32)

    def clear(self, row: int) -> None:
        """Make the weights of a row zero."""
        self._w[row].zero_()

    @property
    def growth(self) -> float:
        """By what factor recursions along the longest chain make rounding grow."""
        longest = 1 if self.data.chains is None else self.data.chains.longest
        return 1.0 + longest * self.data.problem.n_labels / 16384.0
