// dgemm THREADS: GFLOP/s of MKL's dgemm with matrices of order 2048, the best of 7.
#include <mkl_cblas.h>
#include <mkl_service.h>

#include "driver.h"

int main(int argc, char **argv) {
  enum { N = 2048 };
  double *m[3], best = 0;
  mkl_set_num_threads(argc > 1 ? atoi(argv[1]) : 1);
  for (int k = 0; k < 3; k++) {
    m[k] = malloc(sizeof(double) * N * N);
    for (int i = 0; i < N * N; i++) m[k][i] = 1 + i % 7;
  }
  for (int k = 0; k < MOST; k++) {
    double t = now();
    cblas_dgemm(CblasColMajor, CblasNoTrans, CblasTrans, N, N, N, -1, m[0], N, m[1], N, 1, m[2], N);
    best = fmax(best, 2e-9 * N * N * N / (now() - t));
  }
  return printf("%.2f\n", best), 0;
}
