"""The top of the report that ``dualfield demo`` writes, as a picture, for light and dark pages.

A headless Chromium takes the pictures; Debian's package is called ``chromium``. The report is written into a folder
that is removed afterwards.

    python benchmarks/pictures/report_page.py [--browser PROGRAM] [--folder FOLDER]
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image

sys.path.insert(0, str(Path(__file__).parents[2]))
from benchmarks.pictures.themes import PICTURES
from dualfield.cli.demo import run

SIZE = (600, 1130)  # the certificate and the first curves
COLOUR_SCHEMES = {"dark": 0, "light": 1}  # the numbers that Chromium gives them


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--browser", metavar="PROGRAM", default="chromium", help="default: %(default)s")
    parser.add_argument("--folder", type=Path, default=PICTURES, help="where to put the pictures")
    arguments = parser.parse_args()
    browser = shutil.which(arguments.browser)
    if browser is None:
        sys.exit(f"there is no program {arguments.browser!r}; name a Chromium with --browser.")
    arguments.folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "report.html"
        run(2000, 0, str(page))
        for name, scheme in COLOUR_SCHEMES.items():
            picture = arguments.folder / f"report_{name}.png"
            photograph(browser, page, scheme, picture, Path(folder) / name)
            print(f"wrote {picture}")


def photograph(browser: str, page: Path, scheme: int, picture: Path, profile: Path) -> None:
    command = [
        browser,
        *("--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--force-device-scale-factor=2"),
        f"--user-data-dir={profile}",
        f"--blink-settings=preferredColorScheme={scheme}",
        f"--window-size={SIZE[0]},{SIZE[1]}",
        f"--screenshot={picture.resolve()}",
        page.resolve().as_uri(),
    ]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    # a palette makes the file three times smaller
    with Image.open(picture) as taken:
        small = taken.convert("RGB").quantize(256, method=Image.Quantize.MAXCOVERAGE)
    small.save(picture, optimize=True)


if __name__ == "__main__":
    main()
