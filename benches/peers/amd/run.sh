#!/bin/bash
# run.sh METHOD PEER MATRIX...: a table of METHOD (amd, nd, …) against PEER (amd or metis).
# Needs `compare` built here (README.md) and the example `order_pattern`; a MATRIX may be model:NAME.
set -e
here=$(dirname "$0"); method=$1 peer=$2; shift 2
example=${EXAMPLE:-target/release/examples/order_pattern}; tmp=$(mktemp -d); trap 'rm -r "$tmp"' EXIT
[ "$peer" = metis ] && flag=-m
echo "| matrix | n | nnz(L) | $peer | ratio | flops ratio | time ms | $peer | ratio |"
echo "|---|--:|--:|--:|--:|--:|--:|--:|--:|"
for m in "$@"; do
  secs=$("$example" "$m" "$method" "$tmp/a")
  n=$(od -An -t d8 -N 8 "$tmp/a.bin" | tr -d ' ')
  "${COMPARE:-$here/compare}" $flag "$tmp/a.bin" "$tmp/a.perm" "$secs" | awk -v p="$peer" -v m="$(basename "$m")" -v n="$n" '
    {l[$1] = $2; f[$1] = $3; t[$1] = $4}
    END {o = "ours"; printf "| %s | %d | %d | %d | %.4f | %.3f | %.2f | %.2f | %.2f |\n", m, n, l[o], l[p], l[o]/l[p], f[o]/f[p], 1e3*t[o], 1e3*t[p], t[o]/t[p]}'
done
