// mumps MATRIX.bin NAME THREADS LABEL ORDER.i32|ICNTL7: sequential MUMPS, SPD (threads in its BLAS), no refinement.
// ICNTL7: 0 AMD, 3 Scotch, 4 PORD, 7 its own choice.
#include <dmumps_c.h>
#include <mumps_seq/mpi.h>

#include "driver.h"

static DMUMPS_STRUC_C id;
static double *b, *x;

static double call(int job) {
  id.job = job;
  double t = now();
  dmumps_c(&id);
  if (id.infog[0] < 0) exit((fprintf(stderr, "mumps: job %d, INFOG(1) %d\n", job, id.infog[0]), 1));
  return now() - t;
}

static double solve(int nrhs) {
  memcpy(x, b, 8 * (size_t)id.n * nrhs); // the solution replaces it
  id.nrhs = nrhs;
  return call(3);
}

static void again(void) { call(2), solve(1); }

static void whole(void) { call(1), again(); }

int main(int argc, char **argv) {
  if (argc != 6) return fprintf(stderr, "usage: mumps MATRIX.bin NAME THREADS LABEL ORDER\n"), 1;
  Matrix a = load(argv[1]);
  int32_t *row = malloc(4 * a.nnz), *col = malloc(4 * a.nnz);
  for (int64_t j = 0; j < a.n; j++)
    for (int64_t k = a.ptr[j]; k < a.ptr[j + 1]; k++) row[k] = a.row[k] + 1, col[k] = j + 1;
  b = right_hand_sides(&a), x = malloc(8 * a.n * MANY);
  id.comm_fortran = -987654, id.par = 1, id.sym = 1; // MPI_COMM_WORLD, positive definite
  call(-1);
  id.icntl[0] = id.icntl[1] = id.icntl[2] = -1, id.icntl[3] = 0; // print nothing
  id.icntl[27] = 1;                                              // sequential analysis
  id.n = a.n, id.nnz = a.nnz, id.irn = row, id.jcn = col, id.a = a.val;
  id.rhs = x, id.lrhs = a.n;
  if (strchr(argv[5], '.')) {
    int32_t *order = load_order(argv[5], a.n), *place = malloc(4 * a.n);
    for (int64_t k = 0; k < a.n; k++) place[order[k]] = k + 1;
    free(order);
    id.icntl[6] = 1, id.perm_in = place;
  } else id.icntl[6] = atoi(argv[5]);
  double before = status_bytes("VmRSS");
  Record r = {argv[4], argv[2], atoi(argv[3])};
  r.order = call(1);
  r.first = call(2);
  for (double sum = 0; r.refactors < MOST && (!r.refactors || sum < 2); r.refactors++)
    sum += r.refactor[r.refactors] = call(2);
  r.stored = id.infog[28] < 0 ? -id.infog[28] : id.infog[28] * 1e-6; // INFOG(29): millions if negative
  for (int k = -1; k < MOST; k++) {
    double t = solve(1);
    if (k >= 0) r.solve[0][k] = t;
  }
  r.peak = status_bytes("VmHWM") - before;
  r.error[0] = backward_error(&a, x, b, 1);
  for (int k = 0; k < MOST; k++) r.solve[1][k] = solve(MANY);
  r.error[1] = backward_error(&a, x, b, MANY);
  cycles(&r, whole, again);
  return print(&r, a.n), 0;
}
