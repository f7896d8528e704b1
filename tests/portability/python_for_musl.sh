#!/usr/bin/env bash
# Compiles a Python 3.11 that uses musl, from the sources of Debian 12, which has no package of one.
#
#     tests/portability/python_for_musl.sh FOLDER PYTHON
#
# FOLDER/bin/python3.11 is the result; PYTHON is a Python 3.11 of this machine, which takes part in the build. Needed are
# the packages musl, musl-tools and linux-libc-dev. Nothing has to be installed, and no root is asked for.
set -euo pipefail
exec </dev/null

prefix="$(realpath -m "${1:?where to? See the top of this file.}")"
python="$(realpath -s "${2:?by which Python? See the top of this file.}")"
rm -rf "$prefix" "$prefix.build"
mkdir -p "$prefix.build"/{apt/lists/partial,archives/partial,sources,kernel,zlib,libffi,python3.11}
cd "$prefix.build"

# The sources, from where this machine has its packages.
list=/etc/apt/sources.list
[[ -s "$list" ]] || list=/etc/apt/sources.list.d/debian.sources
# Each entry is asked for sources of Debian 12; and again for packages of Debian 13, whose musl loads what the wheels of
# others bring along (relative relocations in DT_RELR, since musl 1.2.4).
{
    sed 's/^\(Types: \)\?deb\>/\1deb-src/' "$list"
    printf '\n'
    sed 's/bookworm/trixie/g' "$list"
} >"apt/${list##*/}"
from=(-o Dir::Etc::SourceList="$PWD/apt/${list##*/}" -o Dir::Etc::SourceParts=/dev/null -o Dir::State="$PWD/apt" -o Dir::Cache="$PWD")
apt-get "${from[@]}" update -qq
(cd sources && apt-get "${from[@]}" source -qq --tar-only zlib/bookworm libffi/bookworm python3.11/bookworm)
(cd sources && apt-get "${from[@]}" download -qq musl/trixie && dpkg-deb -x musl_*.deb ../musl)
for name in zlib libffi python3.11; do
    tar -xf sources/"$name"_*.orig.tar.* --strip-components=1 -C "$name"
done

# The compiler takes headers of musl first, then those of the kernel. Python asks it for the name that modules get, and
# for folders of headers and libraries, where it must not find those of this machine.
ln -s /usr/include/linux /usr/include/asm-generic "/usr/include/$(gcc -print-multiarch)/asm" kernel
cat >compiler <<END
#!/bin/sh
case "\$*" in
    -print-multiarch | --print-multiarch) echo x86_64-linux-musl ;;
    "-E -v -") ;;
    *) exec musl-gcc -idirafter "$PWD/kernel" "\$@" ;;
esac
END
chmod +x compiler
export CC="$PWD/compiler" CFLAGS="-O2 -w -fPIC"
# Two names of the same, or Python would look for libraries of this machine.
crossing=(--build=x86_64-here-linux-musl --host=x86_64-linux-musl)
(cd zlib && ./configure --static --prefix="$prefix" && make -s libz.a && make -s install) >zlib.log
(cd libffi && ./configure -q "${crossing[@]}" --disable-shared --disable-docs --prefix="$prefix" && make -s install) \
    >libffi.log
cd python3.11
ac_cv_file__dev_ptmx=yes ac_cv_file__dev_ptc=no ac_cv_buggy_getaddrinfo=no READELF="$(command -v readelf)" \
    CPPFLAGS="-I$prefix/include" LDFLAGS="-L$prefix/lib -Wl,--dynamic-linker=$prefix/lib/ld-musl-x86_64.so.1" \
    ./configure -q "${crossing[@]}" --with-build-python="$python" --disable-test-modules --without-ensurepip \
    --prefix="$prefix"
make -s -j 2 >../python.log
make -s install >>../python.log
cp ../musl/usr/lib/x86_64-linux-musl/libc.so "$prefix/lib/ld-musl-x86_64.so.1"
"$prefix/bin/python3.11" -c "import ctypes, sysconfig, zlib; print(sysconfig.get_config_var('SOABI'))"
