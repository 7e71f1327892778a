#include "peer.h"

void kernel(DATA_TYPE x1[restrict N], DATA_TYPE x2[restrict N], const DATA_TYPE y1[restrict N], const DATA_TYPE y2[restrict N],
            const DATA_TYPE A[restrict N][N]) {
#pragma scop
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++) x1[i] += A[i][j] * y1[j];
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++) x2[i] += A[j][i] * y2[j];
#pragma endscop
}
