"""Photos lie as their labels do, features know nothing of the test photos, and faults are named."""

from __future__ import annotations

import io
import sys
import tarfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from sklearn.linear_model import LogisticRegression

from dualfield.datasets import Images, load_man_made_structure
from dualfield.datasets.structure import FILES
from dualfield.features import edge_differences, grid_edges
from dualfield.features.graphs.orientations import (
    multi_scale_features,
    orientation_histograms,
    quadratic_features,
    site_features,
)

PORTRAITS = {
    "train": "002 004 006 008 012 031 049 053 058 061 064 088 095 107",
    "test": "006 008 036 040 041 042 055 062 072 073 074 075 077 089 095 112 113 128",
}


@pytest.fixture(scope="module")
def photos(data_folder: Path) -> Images:
    return load_man_made_structure(data_folder / "kumar_hebert")


def write(folder: Path, part: str, photos: dict[str, np.ndarray], labels: dict[str, np.ndarray]) -> None:
    """A part of a data set in the form of the real one; PNG keeps the pixels."""
    archive_name, text_name = FILES[part]
    with tarfile.open(folder / archive_name, "w") as archive:
        for name, photo in photos.items():
            content = io.BytesIO()
            Image.fromarray(photo).save(content, format="PNG")
            member = tarfile.TarInfo(f"photos/{name}.png")
            member.size = len(content.getvalue())
            content.seek(0)
            archive.addfile(member, content)
    lines = [f"# {name}\n" + "\n".join("".join(map(str, row)) for row in grid) + "\n" for name, grid in labels.items()]
    (folder / text_name).write_text("".join(lines))


def made_up(seed: int, n: int, height: int = 2, width: int = 3) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Random photos; every second one is portrait and must be transposed."""
    generator = np.random.default_rng(seed)
    photos, labels = {}, {}
    for number in range(n):
        photo = generator.integers(0, 256, (16 * height, 16 * width, 3), dtype=np.uint8)
        photos[f"{number:03}"] = photo.swapaxes(0, 1).copy() if number % 2 else photo
        labels[f"{number:03}"] = generator.integers(0, 2, (height, width))
    return photos, labels


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path, "train", *made_up(0, 4))
    write(tmp_path, "test", *made_up(1, 2))
    return tmp_path


# ---- made-up photos --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("sites", "compute"), [("single", site_features), ("multiscale", multi_scale_features)])
def test_features_are_standardised_by_training_sites_then_expanded(folder: Path, sites: str, compute: object) -> None:
    images = load_man_made_structure(folder, sites)  # type: ignore[arg-type]
    raw = {}
    for part, pictures in (("train", images.pictures_train), ("test", images.pictures_test)):
        histograms = [orientation_histograms(picture) for picture in pictures or []]
        raw[part] = np.stack([compute(h) for h in histograms]), np.stack(list(map(multi_scale_features, histograms)))  # type: ignore[operator]
    for X, edge_features, part in (
        (images.X_train, images.edge_features_train, "train"),
        (images.X_test, images.edge_features_test, "test"),
    ):
        scaled = []
        for features, trained in zip(raw[part], raw["train"], strict=True):
            deviation = trained.std(axis=(0, 1, 2))
            scaled.append((features - trained.mean(axis=(0, 1, 2))) / np.where(deviation > 0, deviation, 1))
        np.testing.assert_allclose(np.stack(X), quadratic_features(scaled[0]), atol=1e-9)
        for edges, multi in zip(edge_features or [], scaled[1], strict=True):
            np.testing.assert_allclose(edges, edge_differences(multi), atol=1e-9)


def test_training_features_do_not_depend_on_test_photos(folder: Path) -> None:
    before = load_man_made_structure(folder)
    write(folder, "test", *made_up(2, 5))
    after = load_man_made_structure(folder)
    assert len(after.X_test) == 5
    for ours, theirs in ((before.X_train, after.X_train), (before.edge_features_train, after.edge_features_train)):
        assert all(np.array_equal(a, b) for a, b in zip(ours or [], theirs or [], strict=True))


def test_a_test_photo_is_described_alike_whatever_is_beside_it(folder: Path) -> None:
    both = load_man_made_structure(folder).X_test
    photos, labels = made_up(1, 2)
    write(folder, "test", {"001": photos["001"]}, {"001": labels["001"]})
    (alone,) = load_man_made_structure(folder).X_test
    assert np.array_equal(alone, both[1])


def test_portrait_photos_are_transposed_and_not_turned(folder: Path) -> None:
    images = load_man_made_structure(folder)
    photos, labels = made_up(0, 4)
    for number, picture in enumerate(images.pictures_train or []):
        photo = photos[f"{number:03}"]
        assert picture.shape == (32, 48, 3)
        assert np.array_equal(picture, photo if number % 2 == 0 else np.transpose(photo, (1, 0, 2)))
        assert np.array_equal(images.y_train[number], labels[f"{number:03}"])


def test_repeated_photos_are_noted(folder: Path) -> None:
    assert load_man_made_structure(folder).note == ""
    photos, labels = made_up(0, 4)
    other, other_labels = made_up(1, 2)
    write(folder, "test", other | {"070": photos["003"]}, other_labels | {"070": labels["003"]})
    assert load_man_made_structure(folder).note.endswith("(test = training): 070 = 003.")


@pytest.mark.parametrize("name", [name for names in FILES.values() for name in names])
def test_a_missing_file_is_named(folder: Path, name: str) -> None:
    (folder / name).unlink()
    with pytest.raises(FileNotFoundError, match=f"has no file {name}; give the folder that holds the photos"):
        load_man_made_structure(folder)


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"nowhere of the photos does not exist; .*totalImagesTrain\.tar"):
        load_man_made_structure(tmp_path / "nowhere")


def test_photos_and_labels_must_be_of_the_same_names(folder: Path) -> None:
    photos, labels = made_up(1, 3)
    write(folder, "test", {"000": photos["000"]}, labels)
    with pytest.raises(ValueError, match=r"photo 001 is in .*labels_test\.txt but not in .*totalImagesTest\.tar"):
        load_man_made_structure(folder)
    write(folder, "test", photos, {"000": labels["000"]})
    with pytest.raises(ValueError, match=r"photo 001 is in .*totalImagesTest\.tar but not in .*labels_test\.txt"):
        load_man_made_structure(folder)
    write(folder, "test", {}, {})
    with pytest.raises(ValueError, match=r"totalImagesTest\.tar holds no photos"):
        load_man_made_structure(folder)


def test_a_photo_of_another_size_is_named(folder: Path) -> None:
    photos, labels = made_up(1, 2)
    write(folder, "test", photos | {"001": np.zeros((32, 32, 3), np.uint8)}, labels)
    with pytest.raises(ValueError, match=r"photo 001 has 32 × 32 pixels; expected 32 × 48 or the transpose"):
        load_man_made_structure(folder)


@pytest.mark.parametrize("rows", ["012\n000\n", "000\n00\n", "", "2\n", "ab\nba\n"])
def test_labels_that_are_no_grid_are_named(folder: Path, rows: str) -> None:
    (folder / "labels_train.txt").write_text(f"# 000\n{rows}# 001\n000\n000\n")
    with pytest.raises(ValueError, match=r"labels_train\.txt: the labels of photo 000 are not rows"):
        load_man_made_structure(folder)


def test_broken_archives_and_photos_are_named(folder: Path) -> None:
    archive = folder / "totalImagesTest.tar"
    whole = archive.read_bytes()
    archive.write_bytes(b"not an archive")
    with pytest.raises(ValueError, match=r"totalImagesTest\.tar is not a whole tar file"):
        load_man_made_structure(folder)
    archive.write_bytes(whole[:2000])
    with pytest.raises(ValueError, match=r"totalImagesTest\.tar is not a whole tar file"):
        load_man_made_structure(folder)
    archive.write_bytes(whole.replace(b"IHDR", b"IHXX"))
    with pytest.raises(ValueError, match=r"photos/000\.png is not a whole photo"):
        load_man_made_structure(folder)


def test_unknown_site_features_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="sites is 'triple'; expected 'single' or 'multiscale'"):
        load_man_made_structure(tmp_path, "triple")  # type: ignore[arg-type]


def test_without_pillow_the_way_out_is_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(ImportError, match=r"Pillow, which is not installed; .*dualfield\[images\]"):
        load_man_made_structure(folder)


# ---- the real photos -------------------------------------------------------------------------------------


def test_counts_are_those_of_the_data_set(photos: Images) -> None:
    assert (len(photos.X_train), len(photos.X_test)) == (108, 129)
    assert {X.shape for X in (*photos.X_train, *photos.X_test)} == {(16, 24, 21)}
    assert {X.shape for X in photos.edge_features_train or []} == {(16 * 23 + 15 * 24, 15)}
    assert {picture.shape for picture in photos.pictures_test or []} == {(256, 384, 3)}
    assert (int(np.sum(photos.y_train)), int(np.sum(photos.y_test))) == (5203, 6372)
    assert all(np.isfinite(X).all() for X in (*photos.X_train, *photos.X_test))


def test_training_features_have_mean_0_and_variance_1(photos: Images) -> None:
    X = np.stack(photos.X_train)
    assert (X[..., 0] == 1).all()
    np.testing.assert_allclose(X[..., 1:6].mean(axis=(0, 1, 2)), 0, atol=1e-9)
    np.testing.assert_allclose(X[..., 1:6].std(axis=(0, 1, 2)), 1, atol=1e-9)
    # test photos do not, as their own statistics had no say
    assert np.abs(np.stack(photos.X_test)[..., 1:6].mean(axis=(0, 1, 2))).max() > 1e-3


@pytest.mark.parametrize("part", ["train", "test"])
def test_edges_are_where_labels_are_for_the_transpose_only(photos: Images, part: str) -> None:
    """In portraits, mean edge strength follows the labels better than for the photo turned either way."""
    X, y = getattr(photos, f"X_{part}"), getattr(photos, f"y_{part}")
    numbers = [int(name) for name in PORTRAITS[part].split()]
    labels = np.concatenate([y[number].ravel() for number in numbers])

    def correlation(turn: object) -> float:
        strength = np.concatenate([turn(X[number][..., 1]).ravel() for number in numbers])  # type: ignore[operator]
        return float(np.corrcoef(strength, labels)[0, 1])

    right = correlation(lambda lattice: lattice)
    # relative to a transpose, turns of the photo by 90 degrees flip rows or columns
    assert right > 0.2
    for wrong in (np.flipud, np.fliplr, lambda lattice: lattice[::-1, ::-1]):
        assert correlation(wrong) < right - 0.1


def test_portraits_are_the_known_ones(data_folder: Path) -> None:
    for part, names in PORTRAITS.items():
        with tarfile.open(data_folder / "kumar_hebert" / FILES[part][0]) as archive:
            found = []
            for member in archive.getmembers():
                content = archive.extractfile(member)
                if content is not None:
                    with Image.open(content) as photo:
                        if photo.height > photo.width:
                            found.append(Path(member.name).stem)
        assert sorted(found) == names.split()


def test_the_note_names_every_repeated_photo(photos: Images) -> None:
    pairs = {
        f"{test:03} = {train:03}"
        for test, a in enumerate(photos.pictures_test or [])
        for train, b in enumerate(photos.pictures_train or [])
        if np.array_equal(a[::32, ::32], b[::32, ::32]) and np.array_equal(a, b)
    }
    assert {"034 = 007", "106 = 100"} <= pairs
    assert len(pairs) == 9
    assert set(photos.note.removesuffix(".").split(": ")[1].split(", ")) == pairs
    agreement = [(photos.y_test[int(pair[:3])] == photos.y_train[int(pair[-3:])]).mean() for pair in pairs]
    assert round(100 * (1 - np.mean(agreement))) == 4


def test_sites_alone_beat_the_majority_on_test_photos(photos: Images) -> None:
    train, test = (np.concatenate([x.reshape(-1, 21) for x in X]) for X in (photos.X_train, photos.X_test))
    y_train, y_test = (np.concatenate([y.ravel() for y in labels]) for labels in (photos.y_train, photos.y_test))
    model = LogisticRegression(max_iter=1000).fit(train, y_train)
    assert model.score(test, y_test) > 0.9 > 1 - y_test.mean()


def test_edge_features_tell_where_labels_change(photos: Images) -> None:
    edges = grid_edges(16, 24)
    change = np.concatenate([np.diff(y.ravel()[edges], axis=1)[:, 0] != 0 for y in photos.y_train])
    # the difference of edge strengths at scale 64
    difference = np.concatenate([features[:, 9] for features in photos.edge_features_train or []])
    assert difference[change].mean() > 1.1 * difference[~change].mean()
