#include "peer.h"

static DATA_TYPE tmp[M];

void kernel(const DATA_TYPE A[restrict M][N], const DATA_TYPE x[restrict N], DATA_TYPE y[restrict N]) {
#pragma scop
  for (int j = 0; j < N; j++) y[j] = 0;
  for (int i = 0; i < M; i++) {
    tmp[i] = 0;
    for (int j = 0; j < N; j++) tmp[i] += A[i][j] * x[j];
    for (int j = 0; j < N; j++) y[j] += A[i][j] * tmp[i];
  }
#pragma endscop
}
