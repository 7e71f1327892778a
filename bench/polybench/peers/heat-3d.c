#include "peer.h"

void kernel(DATA_TYPE A[restrict N][N][N], DATA_TYPE B[restrict N][N][N]) {
#pragma scop
  for (int t = 0; t < TSTEPS; t++) {
    for (int i = 1; i < N - 1; i++)
      for (int j = 1; j < N - 1; j++)
        for (int k = 1; k < N - 1; k++)
          B[i][j][k] = (DATA_TYPE)0.125 * (A[i + 1][j][k] - 2 * A[i][j][k] + A[i - 1][j][k]) +
                       (DATA_TYPE)0.125 * (A[i][j + 1][k] - 2 * A[i][j][k] + A[i][j - 1][k]) +
                       (DATA_TYPE)0.125 * (A[i][j][k + 1] - 2 * A[i][j][k] + A[i][j][k - 1]) + A[i][j][k];
    for (int i = 1; i < N - 1; i++)
      for (int j = 1; j < N - 1; j++)
        for (int k = 1; k < N - 1; k++)
          A[i][j][k] = (DATA_TYPE)0.125 * (B[i + 1][j][k] - 2 * B[i][j][k] + B[i - 1][j][k]) +
                       (DATA_TYPE)0.125 * (B[i][j + 1][k] - 2 * B[i][j][k] + B[i][j - 1][k]) +
                       (DATA_TYPE)0.125 * (B[i][j][k + 1] - 2 * B[i][j][k] + B[i][j][k - 1]) + B[i][j][k];
  }
#pragma endscop
}
