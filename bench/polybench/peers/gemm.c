#include "peer.h"

void kernel(DATA_TYPE C[restrict NI][NJ], const DATA_TYPE A[restrict NI][NK], const DATA_TYPE B[restrict NK][NJ]) {
#pragma scop
  const DATA_TYPE alpha = 1.5, beta = 1.2;
  for (int i = 0; i < NI; i++) {
    for (int j = 0; j < NJ; j++) C[i][j] *= beta;
    for (int k = 0; k < NK; k++)
      for (int j = 0; j < NJ; j++) C[i][j] += alpha * A[i][k] * B[k][j];
  }
#pragma endscop
}
