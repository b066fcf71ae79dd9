// What the drivers of C libraries share: the matrix file, timing, the line of JSON.
// MATRIX.bin: int64 n, int64 nnz, int64 col_ptr[n+1], int32 rows[nnz], double values[nnz], the lower
// triangle with its diagonal. ORDER.i32: int32 user_of_elim[n].
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST = 7, MANY = 16, CYCLES = 200 };

// Seconds of all phases below which a system is also run as a whole over and over.
static const double SMALL = 0.3;

typedef struct {
  int64_t n, nnz, *ptr;
  int32_t *row;
  double *val;
} Matrix;

typedef struct {
  const char *solver, *matrix;
  int threads;
  double order, symbolic, first, refactor[MOST], solve[2][MOST], stored, nnz_l, gflop, peak, error[2];
  int refactors;
  double whole[CYCLES], again[CYCLES];
  int wholes, agains;
} Record;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec + 1e-9 * t.tv_nsec;
}

static void *get(FILE *f, size_t bytes) {
  void *p = malloc(bytes + 1);
  if (!f || !p || fread(p, 1, bytes, f) != bytes) exit(fprintf(stderr, "short read\n"));
  return p;
}

static Matrix load(const char *path) {
  FILE *f = fopen(path, "rb");
  int64_t *head = get(f, 16);
  Matrix a = {head[0], head[1], get(f, 8 * (head[0] + 1)), get(f, 4 * head[1]), get(f, 8 * head[1])};
  fclose(f);
  return a;
}

static int32_t *load_order(const char *path, int64_t n) { return get(fopen(path, "rb"), 4 * n); }

static void multiply(const Matrix *a, const double *x, double *y) {
  memset(y, 0, 8 * a->n);
  for (int64_t j = 0; j < a->n; j++)
    for (int64_t k = a->ptr[j]; k < a->ptr[j + 1]; k++) {
      y[a->row[k]] += a->val[k] * x[j];
      if (a->row[k] != j) y[j] += a->val[k] * x[a->row[k]];
    }
}

// MANY columns: column c is (c + 1) b, so that columns that a solver mixes up show; b = A x, x_i = 1 + sin(0.37 i)
static double *right_hand_sides(const Matrix *a) {
  size_t n = a->n & INT32_MAX;
  double *x = malloc(8 * n), *b = malloc(8 * n * MANY);
  for (int64_t i = 0; i < a->n; i++) x[i] = 1 + sin(0.37 * i);
  multiply(a, x, b);
  for (int64_t k = a->n; k < MANY * a->n; k++) b[k] = (k / a->n + 1) * b[k % a->n];
  free(x);
  return b;
}

static double column_error(const Matrix *a, const double *x, const double *b) {
  double *y = malloc(8 * a->n), *s = calloc(a->n, 8), r = 0, xm = 0, bm = 0, am = 0;
  multiply(a, x, y);
  for (int64_t j = 0; j < a->n; j++)
    for (int64_t k = a->ptr[j]; k < a->ptr[j + 1]; k++) {
      s[a->row[k]] += fabs(a->val[k]);
      if (a->row[k] != j) s[j] += fabs(a->val[k]);
    }
  for (int64_t i = 0; i < a->n; i++) {
    double e = fabs(y[i] - b[i]);
    if (!(e <= r) && !isnan(r)) r = e; // a NaN stays
    xm = fmax(xm, fabs(x[i])), bm = fmax(bm, fabs(b[i])), am = fmax(am, s[i]);
  }
  free(y), free(s);
  return r / (am * xm + bm);
}

// The larger of the first and the last column's, NaN if one is.
static double backward_error(const Matrix *a, const double *x, const double *b, int nrhs) {
  size_t last = (nrhs - 1) * a->n;
  double first = column_error(a, x, b), other = column_error(a, x + last, b + last);
  return other <= first || isnan(first) ? first : other;
}

// A field of /proc/self/status in bytes.
static double status_bytes(const char *field) {
  FILE *f = fopen("/proc/self/status", "r");
  char line[256];
  double kib = 0;
  while (f && fgets(line, sizeof line, f))
    if (!strncmp(line, field, strlen(field))) kib = atof(strchr(line, ':') + 1);
  if (f) fclose(f);
  return 1024 * kib;
}

static void list(const char *name, const double *t, int n) {
  printf(",\"%s\":[", name);
  for (int k = 0; k < n; k++) printf("%s%.9f", k ? "," : "", t[k]);
  printf("]");
}

// Runs `phase` over and over within a second, after once to warm up; the number of times.
static int cycle(void (*phase)(void), double *secs) {
  int count = 0;
  phase();
  for (double sum = 0; count < CYCLES && sum < 1; sum += secs[count++]) {
    double t = now();
    phase();
    secs[count] = now() - t;
  }
  return count;
}

// `whole` analyzes, factorizes and solves from nothing; `again` refactorizes and solves.
static void cycles(Record *r, void (*whole)(void), void (*again)(void)) {
  if (r->order + r->symbolic + r->first + r->solve[0][0] > SMALL) return;
  r->agains = cycle(again, r->again);
  r->wholes = cycle(whole, r->whole);
}

// JSON has no NaN.
static void error(const char *name, double e) {
  if (isfinite(e)) printf(",\"%s\":%.3e", name, e);
  else printf(",\"%s\":null", name);
}

static void print(const Record *r, int64_t n) {
  printf("{\"solver\":\"%s\",\"matrix\":\"%s\",\"threads\":%d,\"n\":%ld", r->solver, r->matrix, r->threads, (long)n);
  printf(",\"order_secs\":%.9f,\"symbolic_secs\":%.9f,\"first_secs\":%.9f", r->order, r->symbolic, r->first);
  list("refactor_secs", r->refactor, r->refactors);
  list("solve_1_secs", r->solve[0], MOST);
  list("solve_16_secs", r->solve[1], MOST);
  list("whole_secs", r->whole, r->wholes);
  list("again_secs", r->again, r->agains);
  printf(",\"nnz_l_millions\":%.6f,\"gflop\":%.9f", r->nnz_l * 1e-6, r->gflop);
  printf(",\"stored_millions\":%.6f,\"peak_bytes\":%.0f", r->stored, r->peak);
  error("backward_error", r->error[0]), error("backward_error_16", r->error[1]);
  printf("}\n");
}
