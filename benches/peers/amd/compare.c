// compare PATTERN.bin [OURS.perm OURS_SECONDS]... : fill and time of orderings of one pattern.
//
// PATTERN.bin: int64 n, int64 nnz, int64 col_ptr[n+1], int32 row_idx[nnz], lower triangle with
// diagonal. OURS.perm: int32 user_of_elim[n]. Prints one line per permutation,
//   name nnz(L) flops seconds
// for SuiteSparse's AMD, METIS_NodeND (with -m) and every file given; all are counted by CHOLMOD.
// Build: cc -O3 -march=native compare.c -o compare -lamd -lcholmod -lmetis
#include <metis.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <suitesparse/amd.h>
#include <suitesparse/cholmod.h>
#include <time.h>

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec + 1e-9 * t.tv_nsec;
}

static void *get(FILE *f, size_t bytes) {
  void *p = malloc(bytes ? bytes : 1);
  if (!p || fread(p, 1, bytes, f) != bytes) exit(fprintf(stderr, "short read\n"));
  return p;
}

static void report(const char *name, int64_t n, const int64_t *p, const int32_t *r, int32_t *perm, double s) {
  cholmod_common c;
  cholmod_start(&c);
  c.nmethods = 1;
  c.method[0].ordering = CHOLMOD_GIVEN;
  c.postorder = 1;
  c.supernodal = CHOLMOD_SIMPLICIAL;
  cholmod_sparse *a = cholmod_allocate_sparse(n, n, p[n], 1, 1, -1, CHOLMOD_PATTERN, &c);
  for (int64_t j = 0; j <= n; j++) ((int32_t *)a->p)[j] = p[j];
  memcpy(a->i, r, 4 * p[n]);
  cholmod_factor *l = cholmod_analyze_p(a, perm, NULL, 0, &c);
  if (!l || c.status < 0) exit(fprintf(stderr, "%s: not a permutation\n", name));
  printf("%s %.0f %.6e %.6f\n", name, c.lnz, c.fl, s);
  cholmod_free_factor(&l, &c);
  cholmod_free_sparse(&a, &c);
  cholmod_finish(&c);
}

int main(int argc, char **argv) {
  int metis = argc > 1 && !strcmp(argv[1], "-m");
  argv += metis, argc -= metis;
  FILE *f = argc > 1 ? fopen(argv[1], "rb") : NULL;
  if (!f) return fprintf(stderr, "usage: compare [-m] PATTERN.bin [OURS.perm SECONDS]...\n"), 1;
  int64_t *head = get(f, 16), n = head[0];
  int64_t *p = get(f, 8 * (n + 1));
  int32_t *r = get(f, 4 * p[n]), *perm = malloc(4 * n + 4), *p32 = malloc(4 * n + 4);
  for (int64_t j = 0; j <= n; j++) p32[j] = p[j];
  double best = 1e300;
  int repeat = n < 20000 ? 15 : 9;
  for (int k = 0; k < repeat; k++) {
    double t = now();
    if (amd_order(n, p32, r, perm, NULL, NULL) < 0) return 1;
    t = now() - t;
    if (t < best) best = t;
  }
  report("amd", n, p, r, perm, best);
  if (metis) {
    idx_t *xadj = calloc(n + 1, sizeof(idx_t)), *adj = malloc(2 * p[n] * sizeof(idx_t) + 8), *at = malloc((n + 1) * sizeof(idx_t));
    for (int64_t j = 0; j < n; j++)
      for (int64_t k = p[j] + 1; k < p[j + 1]; k++) xadj[j + 1]++, xadj[r[k] + 1]++;
    for (int64_t j = 0; j < n; j++) xadj[j + 1] += xadj[j];
    memcpy(at, xadj, (n + 1) * sizeof(idx_t));
    for (int64_t j = 0; j < n; j++)
      for (int64_t k = p[j] + 1; k < p[j + 1]; k++) adj[at[r[k]]++] = j, adj[at[j]++] = r[k];
    idx_t m = n, *mp = malloc(n * sizeof(idx_t)), *mi = malloc(n * sizeof(idx_t));
    double t = now();
    METIS_NodeND(&m, xadj, adj, NULL, NULL, mp, mi);
    t = now() - t;
    for (int64_t k = 0; k < n; k++) perm[k] = mp[k];
    report("metis", n, p, r, perm, t);
  }
  for (int k = 2; k + 1 < argc; k += 2) {
    FILE *g = fopen(argv[k], "rb");
    if (!g) return fprintf(stderr, "cannot open %s\n", argv[k]), 1;
    report("ours", n, p, r, get(g, 4 * n), atof(argv[k + 1]));
  }
  return 0;
}
