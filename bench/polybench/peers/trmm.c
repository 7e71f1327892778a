#include "peer.h"

void kernel(const DATA_TYPE A[restrict M][M], DATA_TYPE B[restrict M][N]) {
#pragma scop
  const DATA_TYPE alpha = 1.5;
  for (int i = 0; i < M; i++)
    for (int j = 0; j < N; j++) {
      for (int k = i + 1; k < M; k++) B[i][j] += A[k][i] * B[k][j];
      B[i][j] *= alpha;
    }
#pragma endscop
}
