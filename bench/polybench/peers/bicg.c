#include "peer.h"

void kernel(const DATA_TYPE A[restrict N][M], DATA_TYPE s[restrict M], DATA_TYPE q[restrict N], const DATA_TYPE p[restrict M],
            const DATA_TYPE r[restrict N]) {
#pragma scop
  for (int j = 0; j < M; j++) s[j] = 0;
  for (int i = 0; i < N; i++) {
    q[i] = 0;
    for (int j = 0; j < M; j++) {
      s[j] += r[i] * A[i][j];
      q[i] += A[i][j] * p[j];
    }
  }
#pragma endscop
}
