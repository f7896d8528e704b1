#!/usr/bin/env bash
# Builds dualfield with another compiler for another Python, and runs a thin selection of its tests there.
#
#     tests/portability/in_chroot.sh gcc14           Debian 13: Python 3.13, gcc 14
#     tests/portability/in_chroot.sh clang19         Debian 13: Python 3.13, clang 19
#     tests/portability/in_chroot.sh free-threaded   Debian 13: Python 3.13 from its source, --disable-gil, gcc 14
#     tests/portability/in_chroot.sh python314       Debian sid: Python 3.14, gcc 15
#
# debootstrap makes the chroot at first use, a gigabyte in build/chroots or in the folder that CHROOTS names. This needs
# root. What is mounted is gone when the script ends. ccache keeps objects between runs where CCACHE_DIR says.
set -euo pipefail
exec </dev/null

cell="${1:?which one? See the top of this file.}"
case "$cell" in
    gcc14) suite=trixie python=/usr/bin/python3.13 cc=gcc-14 cxx=g++-14 ;;
    clang19) suite=trixie python=/usr/bin/python3.13 cc=clang-19 cxx=clang++-19 ;;
    free-threaded) suite=trixie python=/opt/python3.13t/bin/python3.13t cc=gcc-14 cxx=g++-14 ;;
    python314) suite=sid python=/usr/bin/python3.14 cc=gcc-15 cxx=g++-15 ;;
    *)
        echo "$cell is none of: gcc14, clang19, free-threaded, python314" >&2
        exit 2
        ;;
esac
[[ -n "${DUALFIELD_MOUNTS:-}" ]] || exec unshare --mount --propagation private env DUALFIELD_MOUNTS=1 "$0" "$@"

cd "$(dirname "$0")/../.."
root="${CHROOTS:-build/chroots}/$suite"
mkdir -p "$(dirname "$root")"

make_chroot() {
    local packages=(ca-certificates ccache make)
    case "$suite" in
        trixie) packages+=(python3.13-dev python3.13-venv g++-14 clang-19) ;;
        sid) packages+=(python3.14-dev python3.14-venv g++-15) ;;
    esac
    rm -rf "$root.new"
    debootstrap --variant=minbase --include="$(IFS=, && echo "${packages[*]}")" "$suite" "$root.new"
    # A mirror may be older than its list of packages says.
    echo 'Acquire::Check-Valid-Until "false";' >"$root.new/etc/apt/apt.conf.d/99mirror"
    mv "$root.new" "$root"
}

# A command inside, with what pip needs to reach the network as it does outside.
inside() {
    chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 CCACHE_DIR=/ccache \
        PIP_CACHE_DIR=/pip PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_CERT="${PIP_CERT:-}" DEBIAN_FRONTEND=noninteractive \
        CC="$cc" CXX="$cxx" PYTHON="$python" CELL="$cell" WORKERS="${WORKERS:-2}" THIN="${THIN:-16}" "$@"
}

[[ -d "$root" ]] || make_chroot
mkdir -p "$root/ccache" "$root/pip" "$root/dualfield" "${CCACHE_DIR:=$HOME/.cache/ccache}" "$HOME/.cache/pip"
mount --rbind /dev "$root/dev"
mount -t proc proc "$root/proc"
mount --bind "$CCACHE_DIR" "$root/ccache"
mount --bind "$HOME/.cache/pip" "$root/pip"
mount --bind /etc/ssl/certs "$root/etc/ssl/certs"
cp /etc/resolv.conf "$root/etc/resolv.conf"

if [[ "$cell" == free-threaded && ! -x "$root$python" ]]; then
    inside bash -euo pipefail -c '
        sed "s/^deb /deb-src /" /etc/apt/sources.list >/etc/apt/sources.list.d/sources.list
        apt-get update -qq
        apt-get install -y -qq --no-install-recommends xz-utils pkg-config libssl-dev zlib1g-dev libffi-dev libbz2-dev \
            liblzma-dev libsqlite3-dev
        mkdir -p /usr/src/python3.13 && cd /usr/src/python3.13
        apt-get source -qq --download-only python3.13
        tar -xf python3.13_*.orig.tar.xz --strip-components=1
        CC="ccache $CC" CFLAGS=-w ./configure -q --disable-gil --disable-test-modules --with-ensurepip=upgrade \
            --prefix=/opt/python3.13t
        make -s -j "$WORKERS"
        make -s install'
fi

# The sources as they are here, with their times, so that a second build compiles what has changed.
find "$root/dualfield" -mindepth 1 -delete
git ls-files -coz --exclude-standard --deduplicate |
    tar -c --null -T - --ignore-failed-read | tar -x -C "$root/dualfield"

inside bash -euo pipefail -c '
    environment=/environments/$CELL
    [[ -x $environment/bin/pip ]] || "$PYTHON" -m venv "$environment"
    export PATH=$environment/bin:$PATH CMAKE_C_COMPILER_LAUNCHER=ccache CMAKE_CXX_COMPILER_LAUNCHER=ccache
    cd /dualfield
    pip install -qq "scikit-build-core>=0.11" "nanobind>=2.5" cmake ninja
    mkdir -p /builds
    log=/builds/$CELL.log
    pip install --no-build-isolation --no-deps --force-reinstall -C build-dir="/builds/$CELL" \
        -C cmake.define.DUALFIELD_DEVELOPMENT=ON . -v >"$log" 2>&1 || { tail -n 60 "$log" && exit 1; }
    if grep -E "(core|include|methods)/.* warning:" "$log"; then
        echo "The compiler warns; $log in the chroot says more." >&2
        exit 1
    fi
    if [[ $CELL == free-threaded ]]; then
        # The other tools of the tests have no wheels for it: tests that import them are left out.
        pip install -qq --only-binary :all: scikit-learn scipy typer rich pytest hypothesis pytest-xdist
        export PYTHON_GIL=0
        tests=(tests/test_shared_by_threads.py tests/test_threads.py tests/core tests/fields tests/solvers tests/labels
            tests/tagging tests/estimators)
        for module in $(grep -rlE "^(import|from) (pycrfsuite|safetensors|pandas|PIL|jinja2)" tests --include="*.py") \
            tests/core/test_radii.py tests/solvers/test_table.py; do
            tests+=(--ignore "$module")
        done
    else
        pip install -qq "dualfield[test]"
        tests=(tests/test_shared_by_threads.py tests/core tests/fields tests/solvers tests/features tests/models
            tests/tagging tests/estimators tests/compat/pycrfsuite)
    fi
    python -VV
    "$CXX" --version | head -n 1
    pytest -n "$WORKERS" --thin "$THIN" -p no:cacheprovider "${tests[@]}"'
