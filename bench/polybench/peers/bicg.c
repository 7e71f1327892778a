#include "peer.h"

void kernel(const double A[restrict N][M], double s[restrict M], double q[restrict N], const double p[restrict M],
            const double r[restrict N]) {
  for (int j = 0; j < M; j++) s[j] = 0;
  for (int i = 0; i < N; i++) {
    q[i] = 0;
    for (int j = 0; j < M; j++) {
      s[j] += r[i] * A[i][j];
      q[i] += A[i][j] * p[j];
    }
  }
}
