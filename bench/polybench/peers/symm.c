#include "peer.h"

void kernel(DATA_TYPE C[restrict M][N], const DATA_TYPE A[restrict M][M], const DATA_TYPE B[restrict M][N]) {
#pragma scop
  const DATA_TYPE alpha = 1.5, beta = 1.2;
  for (int i = 0; i < M; i++)
    for (int j = 0; j < N; j++) {
      DATA_TYPE t = 0;
      for (int k = 0; k < i; k++) {
        C[k][j] += alpha * B[i][j] * A[i][k];
        t += B[k][j] * A[i][k];
      }
      C[i][j] = beta * C[i][j] + alpha * B[i][j] * A[i][i] + alpha * t;
    }
#pragma endscop
}
