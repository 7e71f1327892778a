#include "peer.h"

static double tmp[NI][NJ];

void kernel(const double A[restrict NI][NK], const double B[restrict NK][NJ], const double C[restrict NJ][NL],
            double D[restrict NI][NL]) {
  const double alpha = 1.5, beta = 1.2;
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
}
