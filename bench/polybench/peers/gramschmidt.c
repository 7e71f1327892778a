#include "peer.h"

void kernel(DATA_TYPE A[restrict M][N], DATA_TYPE R[restrict N][N], DATA_TYPE Q[restrict M][N]) {
#pragma scop
  for (int k = 0; k < N; k++) {
    DATA_TYPE nrm = 0;
    for (int i = 0; i < M; i++) nrm += A[i][k] * A[i][k];
    R[k][k] = sqrt(nrm);
    for (int i = 0; i < M; i++) Q[i][k] = A[i][k] / R[k][k];
    for (int j = k + 1; j < N; j++) {
      R[k][j] = 0;
      for (int i = 0; i < M; i++) R[k][j] += Q[i][k] * A[i][j];
      for (int i = 0; i < M; i++) A[i][j] -= Q[i][k] * R[k][j];
    }
  }
#pragma endscop
}
