// metis MATRIX.bin ORDER.i32: METIS_NodeND's order of the rows, as int32 user_of_elim[n]; prints seconds.
#include <metis.h>

#include "driver.h"

int main(int argc, char **argv) {
  if (argc != 3) return fprintf(stderr, "usage: metis MATRIX.bin ORDER.i32\n"), 1;
  Matrix a = load(argv[1]);
  idx_t n = a.n, *ptr = calloc(a.n + 2, sizeof *ptr), *adj = malloc(sizeof *adj * (2 * a.nnz + 1));
  for (int64_t j = 0; j < n; j++)
    for (int64_t k = a.ptr[j]; k < a.ptr[j + 1]; k++)
      if (a.row[k] != j) ptr[j + 2]++, ptr[a.row[k] + 2]++;
  for (idx_t i = 0; i < n; i++) ptr[i + 2] += ptr[i + 1];
  for (int64_t j = 0; j < n; j++)
    for (int64_t k = a.ptr[j]; k < a.ptr[j + 1]; k++)
      if (a.row[k] != j) adj[ptr[j + 1]++] = a.row[k], adj[ptr[a.row[k] + 1]++] = j;
  idx_t *perm = malloc(sizeof *perm * (a.n + 1)), *inverse = malloc(sizeof *inverse * (a.n + 1));
  double t = now();
  if (METIS_NodeND(&n, ptr, adj, NULL, NULL, perm, inverse) != METIS_OK) return 1;
  printf("%.6f\n", now() - t);
  FILE *f = fopen(argv[2], "wb");
  for (idx_t i = 0; i < n; i++) {
    int32_t u = perm[i];
    fwrite(&u, 4, 1, f);
  }
  return f && !fclose(f) ? 0 : 1;
}
