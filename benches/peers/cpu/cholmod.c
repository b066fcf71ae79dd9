// cholmod MATRIX.bin NAME THREADS LABEL ORDER.i32|amd|metis [simplicial]: CHOLMOD, LLᵀ; supernodal unless asked.
#include <suitesparse/cholmod.h>

#include "driver.h"

static cholmod_common c;
static cholmod_sparse *m;
static cholmod_factor *l;
static cholmod_dense *rhs, *x, *y, *e;
static int32_t *order;

static void check(void) {
  if (!l || c.status) exit((fprintf(stderr, "cholmod: status %d\n", c.status), 1));
}

static void again(void) {
  cholmod_factorize(m, l, &c), check();
  cholmod_solve2(CHOLMOD_A, l, rhs, NULL, &x, NULL, &y, &e, &c);
}

static void whole(void) {
  cholmod_free_factor(&l, &c);
  l = cholmod_analyze_p(m, order, NULL, 0, &c), check();
  again();
}

int main(int argc, char **argv) {
  if (argc < 6) return fprintf(stderr, "usage: cholmod MATRIX.bin NAME THREADS LABEL ORDER [simplicial]\n"), 1;
  Matrix a = load(argv[1]);
  cholmod_start(&c);
  c.print = 0, c.final_ll = 1, c.nmethods = 1, c.postorder = 1;
  c.supernodal = argc > 6 ? CHOLMOD_SIMPLICIAL : CHOLMOD_SUPERNODAL;
  m = cholmod_allocate_sparse(a.n, a.n, a.nnz, 1, 1, -1, CHOLMOD_REAL, &c);
  for (int64_t j = 0; j <= a.n; j++) ((int32_t *)m->p)[j] = a.ptr[j];
  memcpy(m->i, a.row, 4 * a.nnz), memcpy(m->x, a.val, 8 * a.nnz);
  double *b = right_hand_sides(&a), before = status_bytes("VmRSS");
  Record r = {argv[4], argv[2], atoi(argv[3])};
  if (!strcmp(argv[5], "amd")) c.method[0].ordering = CHOLMOD_AMD;
  else if (!strcmp(argv[5], "metis")) c.method[0].ordering = CHOLMOD_METIS;
  else c.method[0].ordering = CHOLMOD_GIVEN, order = load_order(argv[5], a.n);
  double t = now();
  l = cholmod_analyze_p(m, order, NULL, 0, &c), check();
  r.symbolic = now() - t;
  r.nnz_l = c.lnz, r.gflop = c.fl * 1e-9;
  for (double sum = 0; r.refactors < MOST && (r.refactors < 1 || sum < 2); ) {
    t = now();
    cholmod_factorize(m, l, &c), check();
    t = now() - t;
    if (r.first == 0) r.first = t;
    else sum += r.refactor[r.refactors++] = t;
  }
  r.stored = (l->is_super ? (double)l->xsize : r.nnz_l) * 1e-6;
  for (int s = 0; s < 2; s++) {
    rhs = cholmod_allocate_dense(a.n, s ? MANY : 1, a.n, CHOLMOD_REAL, &c);
    memcpy(rhs->x, b, 8 * a.n * (s ? MANY : 1));
    for (int k = -1; k < MOST; k++) {
      t = now();
      cholmod_solve2(CHOLMOD_A, l, rhs, NULL, &x, NULL, &y, &e, &c);
      if (k >= 0) r.solve[s][k] = now() - t; // the first makes the workspace
    }
    if (!s) r.peak = status_bytes("VmHWM") - before;
    r.error[s] = backward_error(&a, x->x, b, s ? MANY : 1);
    if (!s) cycles(&r, whole, again);
    cholmod_free_dense(&rhs, &c);
  }
  return print(&r, a.n), 0;
}
