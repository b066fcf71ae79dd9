// pardiso MATRIX.bin NAME THREADS LABEL IPARM2 IPARM24: MKL PARDISO, Cholesky, its own ordering
// (IPARM2: 0 minimum degree, 2 METIS, 3 METIS in parallel), no refinement.
#include <mkl_pardiso.h>
#include <mkl_service.h>

#include "driver.h"

static void *pt[64];
static MKL_INT iparm[64], n32, *ptr;
static Matrix a;
static double *b, *x;

static double call(MKL_INT phase, MKL_INT nrhs) {
  MKL_INT one = 1, type = 2, quiet = 0, error = 0;
  double t = now();
  pardiso(pt, &one, &one, &type, &phase, &n32, a.val, ptr, a.row, NULL, &nrhs, iparm, &quiet, b, x, &error);
  if (error) exit((fprintf(stderr, "pardiso: phase %d, error %d\n", (int)phase, (int)error), 1));
  return now() - t;
}

static void again(void) { call(22, 1), call(33, 1); }

static void whole(void) { call(-1, 1), call(11, 1), again(); }

int main(int argc, char **argv) {
  if (argc != 7) return fprintf(stderr, "usage: pardiso MATRIX.bin NAME THREADS LABEL IPARM2 IPARM24\n"), 1;
  a = load(argv[1]);
  n32 = a.n, ptr = malloc(sizeof *ptr * (a.n + 1));
  for (int64_t j = 0; j <= a.n; j++) ptr[j] = a.ptr[j];
  b = right_hand_sides(&a), x = malloc(8 * a.n * MANY);
  double before = status_bytes("VmRSS");
  Record r = {argv[4], argv[2], atoi(argv[3])};
  mkl_set_num_threads(r.threads);
  iparm[0] = 1, iparm[1] = atoi(argv[5]), iparm[17] = -1, iparm[23] = atoi(argv[6]), iparm[34] = 1;
  iparm[9] = 13;
  r.order = call(11, 1);
  r.stored = iparm[17] * 1e-6;
  r.first = call(22, 1);
  for (double sum = 0; r.refactors < MOST && (!r.refactors || sum < 2); r.refactors++)
    sum += r.refactor[r.refactors] = call(22, 1);
  for (int k = 0; k < MOST; k++) r.solve[0][k] = call(33, 1);
  r.peak = status_bytes("VmHWM") - before;
  r.error[0] = backward_error(&a, x, b, 1);
  for (int k = 0; k < MOST; k++) r.solve[1][k] = call(33, MANY);
  r.error[1] = backward_error(&a, x, b, MANY);
  cycles(&r, whole, again);
  return print(&r, a.n), 0;
}
