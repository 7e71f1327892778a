#include "peer.h"

static DATA_TYPE mean[M], stddev[M];

void kernel(DATA_TYPE data[restrict N][M], DATA_TYPE corr[restrict M][M]) {
#pragma scop
  const DATA_TYPE n = N;
  for (int j = 0; j < M; j++) {
    mean[j] = 0;
    for (int i = 0; i < N; i++) mean[j] += data[i][j];
    mean[j] /= n;
  }
  for (int j = 0; j < M; j++) {
    stddev[j] = 0;
    for (int i = 0; i < N; i++) stddev[j] += (data[i][j] - mean[j]) * (data[i][j] - mean[j]);
    stddev[j] = sqrt(stddev[j] / n);
    stddev[j] = stddev[j] <= (DATA_TYPE)0.1 ? 1 : stddev[j];
  }
  for (int i = 0; i < N; i++)
    for (int j = 0; j < M; j++) data[i][j] = (data[i][j] - mean[j]) / (sqrt(n) * stddev[j]);
  for (int i = 0; i < M; i++) {
    corr[i][i] = 1;
    for (int j = i + 1; j < M; j++) {
      corr[i][j] = 0;
      for (int k = 0; k < N; k++) corr[i][j] += data[k][i] * data[k][j];
      corr[j][i] = corr[i][j];
    }
  }
#pragma endscop
}
