#!/usr/bin/env bash
# What it takes to build and run Ermine on many machines: an MPI library, its launcher, and libclang for the Rust bindings.
# Nothing happens where they are there already. Debian and Ubuntu; elsewhere install Open MPI or MPICH with headers, and libclang.
set -euo pipefail

libclang() { ldconfig -p | grep -q libclang || ls /usr/lib/llvm-*/lib/libclang*.so* >/dev/null 2>&1; }
if command -v mpicc >/dev/null && command -v mpirun >/dev/null && libclang; then
    exit 0
fi
if ! command -v apt-get >/dev/null; then
    echo "error: install Open MPI or MPICH (library, headers, mpirun) and libclang with the package manager of this system" >&2
    exit 1
fi
run() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi; }
run apt-get update --quiet --quiet
run env DEBIAN_FRONTEND=noninteractive apt-get install --quiet --quiet --yes --no-install-recommends \
    libopenmpi-dev openmpi-bin libclang-dev
