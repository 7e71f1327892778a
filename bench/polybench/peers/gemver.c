#include "peer.h"

void kernel(double A[restrict N][N], const double u1[restrict N], const double v1[restrict N],
            const double u2[restrict N], const double v2[restrict N], double w[restrict N], double x[restrict N],
            const double y[restrict N], const double z[restrict N]) {
  const double alpha = 1.5, beta = 1.2;
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++) A[i][j] = A[i][j] + u1[i] * v1[j] + u2[i] * v2[j];
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++) x[i] += beta * A[j][i] * y[j];
  for (int i = 0; i < N; i++) x[i] += z[i];
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++) w[i] += alpha * A[i][j] * x[j];
}
