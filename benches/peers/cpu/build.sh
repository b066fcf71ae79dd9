#!/bin/bash
# build.sh PEERS OUT: builds the drivers of the C libraries into OUT. PEERS is an installation made by
# ../shared/peers/cpu/setup.sh (MKL from PyPI; CHOLMOD and METIS from Debian: libsuitesparse-dev, libmetis-dev).
set -e
here=$(cd "$(dirname "$0")" && pwd); peers=$(realpath "$1"); mkdir -p "$2"; out=$(realpath "$2")
mkl=$peers/venv/lib
gcc -O2 "$here/pardiso.c" -o "$out/pardiso" -I"$peers/venv/include" -L"$mkl" -Wl,--no-as-needed \
  -l:libmkl_intel_lp64.so.3 -l:libmkl_gnu_thread.so.3 -l:libmkl_core.so.3 -lgomp -lm -ldl -Wl,-rpath,"$mkl"
gcc -O2 "$here/cholmod.c" -o "$out/cholmod" -lcholmod -lm
gcc -O2 "$here/metis.c" -o "$out/metis" -lmetis -lm
