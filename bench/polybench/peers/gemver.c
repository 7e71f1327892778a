#include "peer.h"

void kernel(DATA_TYPE A[restrict N][N], const DATA_TYPE u1[restrict N], const DATA_TYPE v1[restrict N],
            const DATA_TYPE u2[restrict N], const DATA_TYPE v2[restrict N], DATA_TYPE w[restrict N], DATA_TYPE x[restrict N],
            const DATA_TYPE y[restrict N], const DATA_TYPE z[restrict N]) {
#pragma scop
  const DATA_TYPE alpha = 1.5, beta = 1.2;
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++) A[i][j] = A[i][j] + u1[i] * v1[j] + u2[i] * v2[j];
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++) x[i] += beta * A[j][i] * y[j];
  for (int i = 0; i < N; i++) x[i] += z[i];
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++) w[i] += alpha * A[i][j] * x[j];
#pragma endscop
}
