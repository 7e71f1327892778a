#include "peer.h"

static DATA_TYPE tmp[N];

void kernel(const DATA_TYPE A[restrict N][N], const DATA_TYPE B[restrict N][N], const DATA_TYPE x[restrict N],
            DATA_TYPE y[restrict N]) {
#pragma scop
  const DATA_TYPE alpha = 1.5, beta = 1.2;
  for (int i = 0; i < N; i++) {
    tmp[i] = 0;
    y[i] = 0;
    for (int j = 0; j < N; j++) {
      tmp[i] += A[i][j] * x[j];
      y[i] += B[i][j] * x[j];
    }
    y[i] = alpha * tmp[i] + beta * y[i];
  }
#pragma endscop
}
