// eigen MATRIX.bin NAME THREADS LABEL: Eigen's SimplicialLLT with its AMD; for small systems.
#include <Eigen/SparseCholesky>
#include <memory>

#include "driver.h"

using Sparse = Eigen::SparseMatrix<double>;
using Solver = Eigen::SimplicialLLT<Sparse, Eigen::Lower, Eigen::AMDOrdering<int>>;

static Sparse m;
static std::unique_ptr<Solver> solver;
static Eigen::MatrixXd rhs, x;

static void factorize() {
  solver->factorize(m);
  if (solver->info() != Eigen::Success) exit((fprintf(stderr, "eigen: not positive definite\n"), 1));
}

static void again() {
  factorize();
  x.noalias() = solver->solve(rhs);
}

static void whole() {
  solver = std::make_unique<Solver>();
  solver->analyzePattern(m);
  again();
}

int main(int argc, char **argv) {
  if (argc != 5) return fprintf(stderr, "usage: eigen MATRIX.bin NAME THREADS LABEL\n"), 1;
  Matrix a = load(argv[1]);
  std::vector<int> ptr(a.ptr, a.ptr + a.n + 1);
  m = Eigen::Map<Sparse>(a.n, a.n, a.nnz, ptr.data(), a.row, a.val);
  double *b = right_hand_sides(&a), before = status_bytes("VmRSS");
  Record r = {argv[4], argv[2], atoi(argv[3])};
  solver = std::make_unique<Solver>();
  double t = now();
  solver->analyzePattern(m);
  r.symbolic = now() - t, t = now();
  factorize();
  r.first = now() - t;
  for (double sum = 0; r.refactors < MOST && (!r.refactors || sum < 2); r.refactors++) {
    t = now();
    factorize();
    sum += r.refactor[r.refactors] = now() - t;
  }
  r.nnz_l = solver->matrixL().nestedExpression().nonZeros(), r.stored = r.nnz_l * 1e-6;
  for (int s = 0; s < 2; s++) {
    rhs = Eigen::Map<Eigen::MatrixXd>(b, a.n, s ? MANY : 1);
    for (int k = -1; k < MOST; k++) {
      t = now();
      x.noalias() = solver->solve(rhs);
      if (k >= 0) r.solve[s][k] = now() - t;
    }
    if (!s) r.peak = status_bytes("VmHWM") - before;
    r.error[s] = backward_error(&a, x.data(), b, s ? MANY : 1);
    if (!s) cycles(&r, whole, again);
  }
  return print(&r, a.n), 0;
}
