"""CUDA kernels for chains, for the layer of PyTorch and for training. Imported only where a GPU is asked for."""

MOST_LABELS = 256  # a thread of a block for each
