#include "peer.h"

static DATA_TYPE v[N][N], p[N][N], q[N][N];

void kernel(DATA_TYPE u[restrict N][N]) {
#pragma scop
  const DATA_TYPE dx = (DATA_TYPE)1 / N, dt = (DATA_TYPE)1 / TSTEPS;
  const DATA_TYPE mul1 = 2 * dt / (dx * dx), mul2 = 1 * dt / (dx * dx);
  const DATA_TYPE a = -mul1 / 2, b = 1 + mul1, d = -mul2 / 2, e = 1 + mul2;
  for (int t = 0; t < TSTEPS; t++) {
    for (int i = 1; i < N - 1; i++) {
      v[0][i] = 1;
      p[i][0] = 0;
      q[i][0] = v[0][i];
      for (int j = 1; j < N - 1; j++) {
        p[i][j] = -a / (a * p[i][j - 1] + b);
        q[i][j] =
            (-d * u[j][i - 1] + (1 + 2 * d) * u[j][i] - d * u[j][i + 1] - a * q[i][j - 1]) / (a * p[i][j - 1] + b);
      }
      v[N - 1][i] = 1;
      for (int j = N - 2; j >= 1; j--) v[j][i] = p[i][j] * v[j + 1][i] + q[i][j];
    }
    for (int i = 1; i < N - 1; i++) {
      u[i][0] = 1;
      p[i][0] = 0;
      q[i][0] = u[i][0];
      for (int j = 1; j < N - 1; j++) {
        p[i][j] = -d / (d * p[i][j - 1] + e);
        q[i][j] =
            (-a * v[i - 1][j] + (1 + 2 * a) * v[i][j] - a * v[i + 1][j] - d * q[i][j - 1]) / (d * p[i][j - 1] + e);
      }
      u[i][N - 1] = 1;
      for (int j = N - 2; j >= 1; j--) u[i][j] = p[i][j] * u[i][j + 1] + q[i][j];
    }
  }
#pragma endscop
}
