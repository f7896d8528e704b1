"""Data to learn from: generated sentences and images, and image data sets read from a folder."""

from typing import TYPE_CHECKING

from dualfield._deferred import deferred

if TYPE_CHECKING:
    from dualfield.datasets.denoising import load_denoise_x, make_denoising
    from dualfield.datasets.images import Images
    from dualfield.datasets.snakes import load_snakes
    from dualfield.datasets.structure import load_man_made_structure
    from dualfield.datasets.travel import travel_sentences

__all__ = [
    "Images",
    "load_denoise_x",
    "load_man_made_structure",
    "load_snakes",
    "make_denoising",
    "travel_sentences",
]

__getattr__, __dir__ = deferred(
    __name__,
    {
        "denoising": "load_denoise_x make_denoising",
        "images": "Images",
        "snakes": "load_snakes",
        "structure": "load_man_made_structure",
        "travel": "travel_sentences",
    },
)
