"""CUDA kernels for chains, for the layer of PyTorch and for training. Imported only where a GPU is asked for."""

__all__: list[str] = []  # nothing for users: `solve(device="cuda")` and the layer of PyTorch come here

MOST_LABELS = 256  # a thread of a block for each
