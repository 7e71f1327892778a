#include "peer.h"

static double tmp[N];

void kernel(const double A[restrict N][N], const double B[restrict N][N], const double x[restrict N],
            double y[restrict N]) {
  const double alpha = 1.5, beta = 1.2;
  for (int i = 0; i < N; i++) {
    tmp[i] = 0;
    y[i] = 0;
    for (int j = 0; j < N; j++) {
      tmp[i] += A[i][j] * x[j];
      y[i] += B[i][j] * x[j];
    }
    y[i] = alpha * tmp[i] + beta * y[i];
  }
}
