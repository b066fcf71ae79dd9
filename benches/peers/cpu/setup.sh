#!/bin/bash
# setup.sh PEERS: puts the libraries that build.sh and `compare --peers` look for into the folder PEERS (1 GB).
#
# From PyPI: mkl and mkl-include 2026.2.0, mkl 2024.0.0, scipy-openblas32 0.3.34.481.3. From Debian or Ubuntu, to be
# installed beforehand: gcc g++ binutils python3-venv libsuitesparse-dev libmetis-dev libmumps-seq-dev libeigen3-dev.
#
# What is there already is kept; only x86-64.
set -euo pipefail
[ $# = 1 ] || { echo "usage: setup.sh PEERS" >&2; exit 2; }
mkdir -p "$1"; peers=$(realpath "$1"); cd "$peers"

missing=()
need() { for path in "${@:2}"; do [ -e "$path" ] && return; done; missing+=("$1"); }
need libsuitesparse-dev /usr/include/suitesparse/cholmod.h
need libmetis-dev /usr/include/metis.h
need libmumps-seq-dev /usr/include/mumps_seq/mpi.h
need libeigen3-dev /usr/include/eigen3/Eigen/SparseCholesky
for program in gcc g++ nm; do command -v $program >/dev/null || missing+=("${program/nm/binutils}"); done
[ ${#missing[@]} = 0 ] || echo "not installed, so that its solver is left out: apt-get install ${missing[*]}" >&2

# MKL 2026, with headers; and OpenBLAS. The threads are GNU's, so that MKL's other dependencies are not needed.
[ -d venv ] || python3 -m venv venv
venv/bin/pip install --quiet --no-deps mkl==2026.2.0 mkl-include==2026.2.0 scipy-openblas32==0.3.34.481.3

# MKL 2024, unpacked: the libraries of 32-bit integers, of GNU's threads, and the code for each processor.
old=$peers/oldmkl/2024.0.0
if [ ! -e "$old/libmkl_core.so.2" ]; then
  wheel=$(mktemp -d); trap 'rm -r "$wheel"' EXIT
  venv/bin/pip download --quiet --no-deps --dest "$wheel" mkl==2024.0.0
  python3 -m zipfile -e "$wheel"/mkl-*.whl "$wheel/all"
  mkdir -p "$old"
  for name in core gf_lp64 gnu_thread def avx2 avx512 vml_def vml_avx2 vml_avx512; do
    mv "$wheel"/all/mkl-*.data/data/lib/libmkl_$name.so.2 "$old"
  done
fi

# CHOLMOD and MUMPS find their BLAS and LAPACK by these names in LD_LIBRARY_PATH.
blas() { mkdir -p "blas/$1"; for name in libblas.so.3 liblapack.so.3 libopenblas.so.0; do ln -sf "$2" "blas/$1/$name"; done; }
mkdir -p shim

# MKL 2024 as one library.
gcc -shared -x c /dev/null -o "$old/libmkl_all.so" -Wl,--no-as-needed -L"$old" -l:libmkl_gf_lp64.so.2 \
  -l:libmkl_gnu_thread.so.2 -l:libmkl_core.so.2 -lgomp -lm -Wl,-rpath,"$old"
blas mkl24 "$old/libmkl_all.so"

# The wheel's OpenBLAS calls its functions scipy_…; a jump under the usual name for each.
openblas=$(ls "$peers"/venv/lib/python3*/site-packages/scipy_openblas32/lib/libscipy_openblas.so)
nm -D --defined-only "$openblas" | sed -n 's/.* T scipy_\(.*_\)$/\1/p' | while read -r name; do
  printf '.globl %s\n.type %s, @function\n%s: jmp scipy_%s@PLT\n' "$name" "$name" "$name" "$name"
done > shim/openblas.s
echo '.section .note.GNU-stack, "", @progbits' >> shim/openblas.s
gcc -shared shim/openblas.s -o shim/libopenblas_plain.so -L"$(dirname "$openblas")" -lscipy_openblas \
  -Wl,-rpath,"$(dirname "$openblas")"
blas ob34 "$peers/shim/libopenblas_plain.so"

# MKL 2024 asks this function whether its AVX-512 code may run.
echo 'int mkl_serv_intel_cpu_true(void) { return 1; }' > shim/fakeintel.c
gcc -shared -fPIC shim/fakeintel.c -o shim/libfakeintel.so
echo "done: benches/peers/cpu/build.sh $1 target/peers"
