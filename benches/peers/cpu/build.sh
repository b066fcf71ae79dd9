#!/bin/bash
# build.sh PEERS OUT: builds the drivers of the C libraries into OUT; one that does not build is left out, and
# said so. PEERS is what setup.sh made; it says which packages are needed.
set -e
here=$(cd "$(dirname "$0")" && pwd); peers=$(realpath "$1"); mkdir -p "$2"; out=$(realpath "$2")
lib=$peers/venv/lib
mkl=(-I"$peers/venv/include" -L"$lib" -Wl,--no-as-needed -l:libmkl_intel_lp64.so.3 -l:libmkl_gnu_thread.so.3
  -l:libmkl_core.so.3 -lgomp -lm -ldl -Wl,-rpath,"$lib")
make() { local name=$1; shift; "$@" -o "$out/$name" || { rm -f "$out/$name"; echo "left out: $name" >&2; }; }
driver() { local name=$1; shift; make "$name" gcc -O2 "$here/$name.c" "$@"; }
driver pardiso "${mkl[@]}"
driver dgemm "${mkl[@]}"
old=$peers/oldmkl/2024.0.0
mkl24=(-I"$peers/venv/include" -L"$old" -Wl,--no-as-needed -l:libmkl_gf_lp64.so.2 -l:libmkl_gnu_thread.so.2
  -l:libmkl_core.so.2 -lgomp -lm -ldl -Wl,-rpath,"$old")
for name in pardiso dgemm; do make "${name}24" gcc -O2 "$here/$name.c" "${mkl24[@]}"; done
driver cholmod -lcholmod -lm
driver metis -lmetis -lm
driver mumps -I/usr/include/mumps_seq -ldmumps_seq -lm
make eigen g++ -O3 -march=native -fpermissive -w "$here/eigen.cpp" -I/usr/include/eigen3
