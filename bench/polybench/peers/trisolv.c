#include "peer.h"

void kernel(const DATA_TYPE L[restrict N][N], DATA_TYPE x[restrict N], const DATA_TYPE b[restrict N]) {
#pragma scop
  for (int i = 0; i < N; i++) {
    x[i] = b[i];
    for (int j = 0; j < i; j++) x[i] -= L[i][j] * x[j];
    x[i] /= L[i][i];
  }
#pragma endscop
}
