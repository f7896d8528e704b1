"""Data to learn from: generated sentences and images, and image data sets read from a folder."""

from typing import TYPE_CHECKING

from dualfield._deferred import deferred, written_imports

if TYPE_CHECKING:
    from dualfield.datasets.denoising import load_denoise_x as load_denoise_x
    from dualfield.datasets.denoising import make_denoising as make_denoising
    from dualfield.datasets.images import Images as Images
    from dualfield.datasets.snakes import load_snakes as load_snakes
    from dualfield.datasets.structure import load_man_made_structure as load_man_made_structure
    from dualfield.datasets.travel import travel_sentences as travel_sentences

__all__, __getattr__, __dir__ = deferred(__name__, written_imports())
