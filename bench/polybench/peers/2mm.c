#include "peer.h"

static DATA_TYPE tmp[NI][NJ];

void kernel(const DATA_TYPE A[restrict NI][NK], const DATA_TYPE B[restrict NK][NJ], const DATA_TYPE C[restrict NJ][NL],
            DATA_TYPE D[restrict NI][NL]) {
#pragma scop
  const DATA_TYPE alpha = 1.5, beta = 1.2;
  for (int i = 0; i < NI; i++)
    for (int j = 0; j < NJ; j++) {
      tmp[i][j] = 0;
      for (int k = 0; k < NK; k++) tmp[i][j] += alpha * A[i][k] * B[k][j];
    }
  for (int i = 0; i < NI; i++)
    for (int j = 0; j < NL; j++) {
      D[i][j] *= beta;
      for (int k = 0; k < NJ; k++) D[i][j] += tmp[i][k] * C[k][j];
    }
#pragma endscop
}
