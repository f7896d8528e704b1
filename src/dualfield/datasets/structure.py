"""Man-made structure in photos, of Kumar and Hebert (2003): which blocks of a photo show a building?

Photos of 256 × 384 pixels are cut into 16 × 24 blocks of 16 × 16 pixels; a block is structure (1) or not (0). As in
Vishwanathan et al. (2006, section 5.2), a site has the quadratic expansion of five features of its orientation
histogram, 21 in all, and an edge has ``[1, |m_i − m_j|]`` with 14 features ``m`` of three scales. The photos come
without features; :mod:`dualfield.features.graphs.orientations` says how ours are computed, so results can only be
near the paper's, which also trained on 129 photos where the data that is to be had has 108.
"""

from __future__ import annotations

import io
import re
import tarfile
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from dualfield.datasets.folders import Folder, required_file
from dualfield.datasets.images import Images
from dualfield.features.graphs.grids import edge_differences
from dualfield.features.graphs.orientations import (
    BLOCK,
    multi_scale_features,
    orientation_histograms,
    quadratic_features,
    site_features,
)

__all__ = ["load_man_made_structure"]

Floats = npt.NDArray[np.float64]
Photos = dict[str, npt.NDArray[np.uint8]]
Labels = dict[str, npt.NDArray[np.int64]]

# part: (photos, labels)
FILES = {
    "train": ("totalImagesTrain.tar", "labels_train.txt"),
    "test": ("totalImagesTest.tar", "labels_test.txt"),
}


def load_man_made_structure(folder: Folder, sites: Literal["single", "multiscale"] = "single") -> Images:
    """Load the photos of Kumar and Hebert and compute features of their blocks: 108 for training, 129 for testing.

    About an eighth of the blocks is structure. Portrait photos are transposed (rows and columns swapped), as their
    labels are, so that all lattices are 16 × 24. Features are standardised by the means and standard deviations of the
    training blocks; only then are they multiplied and subtracted.

    Parameters
    ----------
    folder : str or path
        The folder that holds ``totalImagesTrain.tar`` and ``totalImagesTest.tar`` with photos ``NNN.jpg``, and
        ``labels_train.txt`` and ``labels_test.txt`` with a line ``# NNN`` and 16 lines of 24 digits for each photo.
    sites : {"single", "multiscale"}
        Site features: the quadratic expansion of the 5 features of the block itself (21, as in the papers), or of the
        14 of three scales, which see a window of up to 64 pixels about it (120).

    Returns
    -------
    images : Images
        With 15 edge features; pictures are the photos. The note says which test photos repeat training photos pixel by
        pixel: nine do, and were labelled a second time, with 4 % of the blocks labelled otherwise.

    Raises
    ------
    ImportError
        If Pillow is not installed; it decodes the photos.
    FileNotFoundError, ValueError
        If a file is missing, or photos and labels do not fit together, with the place.

    Examples
    --------
    With the data in a folder ``kumar_hebert``::

        images = load_man_made_structure("kumar_hebert")
        images.X_train[0].shape, images.edge_features_train[0].shape    # (16, 24, 21), (728, 15)
    """
    if sites not in ("single", "multiscale"):
        raise ValueError(f"sites is {sites!r}; expected 'single' or 'multiscale'.")
    paths = {part: [required_file(folder, name, "the photos") for name in names] for part, names in FILES.items()}
    photos: dict[str, Photos] = {}
    y: dict[str, list[npt.NDArray[np.int64]]] = {}
    for part, (archive, text) in paths.items():
        labels = _read_labels(text)
        photos[part] = _aligned(_read_photos(archive), labels, archive, text)
        y[part] = [labels[name] for name in photos[part]]

    histograms = {part: [orientation_histograms(photo) for photo in photos[part].values()] for part in FILES}
    site = {part: list(map(site_features, histograms[part])) for part in FILES}
    multi = {part: list(map(multi_scale_features, histograms[part])) for part in FILES}
    for features in (site, multi):
        features["train"], features["test"] = _standardised(features["train"], features["test"])
    X = {part: list(map(quadratic_features, (site if sites == "single" else multi)[part])) for part in FILES}
    return Images(
        X_train=X["train"],
        y_train=y["train"],
        X_test=X["test"],
        y_test=y["test"],
        edge_features_train=list(map(edge_differences, multi["train"])),
        edge_features_test=list(map(edge_differences, multi["test"])),
        pictures_train=list(photos["train"].values()),
        pictures_test=list(photos["test"].values()),
        note=_repetitions(photos["train"], photos["test"]),
    )


def _read_photos(path: Path) -> Photos:
    """The photos of an archive, by name and in order of names."""
    try:
        from PIL import Image, UnidentifiedImageError
    except ImportError as error:
        raise ImportError(
            "load_man_made_structure decodes photos with Pillow, which is not installed; "
            'install it with pip install "dualfield[images]".'
        ) from error
    photos: Photos = {}
    try:
        with tarfile.open(path) as archive:
            for member in sorted(archive.getmembers(), key=lambda member: member.name):
                content = archive.extractfile(member)
                if content is None:  # a folder
                    continue
                try:
                    with Image.open(io.BytesIO(content.read())) as photo:
                        photos[Path(member.name).stem] = np.asarray(photo.convert("RGB"))
                except (UnidentifiedImageError, OSError) as error:
                    raise ValueError(f"{path}: {member.name} is not a whole photo ({error}); fetch it anew.") from error
    except (tarfile.TarError, EOFError) as error:
        raise ValueError(f"{path} is not a whole tar file ({error}); fetch it anew.") from error
    return photos


def _read_labels(path: Path) -> Labels:
    labels: Labels = {}
    for entry in re.split(r"^#", path.read_text(encoding="ascii"), flags=re.MULTILINE)[1:]:
        name, *rows = entry.split()
        if not rows or {len(row) for row in rows} != {len(rows[0])} or not set("".join(rows)) <= {"0", "1"}:
            raise ValueError(f"{path}: the labels of photo {name} are not rows of equally many digits 0 and 1.")
        labels[name] = np.array([list(map(int, row)) for row in rows], dtype=np.int64)
    return labels


def _aligned(photos: Photos, labels: Labels, archive: Path, text: Path) -> Photos:
    """Photos that lie as their labels do."""
    if photos.keys() != labels.keys():
        name = min(photos.keys() ^ labels.keys())
        has, lacks = (archive, text) if name in photos else (text, archive)
        raise ValueError(f"photo {name} is in {has} but not in {lacks}; expected the same photos in both.")
    if not photos:
        raise ValueError(f"{archive} holds no photos; expected at least one.")
    aligned = {}
    for name, photo in photos.items():
        expected = tuple(BLOCK * blocks for blocks in labels[name].shape)
        if photo.shape[:2] == expected[::-1]:
            photo = photo.swapaxes(0, 1)
        if photo.shape[:2] != expected:
            raise ValueError(
                f"{archive}: photo {name} has {photo.shape[0]} × {photo.shape[1]} pixels; expected {expected[0]} × "
                f"{expected[1]} or the transpose, {BLOCK} for each label."
            )
        aligned[name] = np.ascontiguousarray(photo)
    return aligned


def _standardised(train: list[Floats], test: list[Floats]) -> tuple[list[Floats], list[Floats]]:
    """Zero mean and unit variance over all training sites; the test sites by the same numbers."""
    sites = np.concatenate([features.reshape(-1, features.shape[-1]) for features in train])
    mean, deviation = sites.mean(axis=0), sites.std(axis=0)
    deviation[deviation == 0] = 1.0
    return [(features - mean) / deviation for features in train], [(features - mean) / deviation for features in test]


def _repetitions(train: Photos, test: Photos) -> str:
    """A sentence on test photos that are training photos too, pixel by pixel."""
    names: dict[Any, str] = {photo.tobytes(): name for name, photo in train.items()}
    repeated = [f"{name} = {names[photo.tobytes()]}" for name, photo in test.items() if photo.tobytes() in names]
    if not repeated:
        return ""
    return f"Some test photos repeat training photos (test = training): {', '.join(repeated)}."
