#include "peer.h"

static DATA_TYPE E[NI][NJ], F[NJ][NL];

void kernel(const DATA_TYPE A[restrict NI][NK], const DATA_TYPE B[restrict NK][NJ], const DATA_TYPE C[restrict NJ][NM],
            const DATA_TYPE D[restrict NM][NL], DATA_TYPE G[restrict NI][NL]) {
#pragma scop
  for (int i = 0; i < NI; i++)
    for (int j = 0; j < NJ; j++) {
      E[i][j] = 0;
      for (int k = 0; k < NK; k++) E[i][j] += A[i][k] * B[k][j];
    }
  for (int i = 0; i < NJ; i++)
    for (int j = 0; j < NL; j++) {
      F[i][j] = 0;
      for (int k = 0; k < NM; k++) F[i][j] += C[i][k] * D[k][j];
    }
  for (int i = 0; i < NI; i++)
    for (int j = 0; j < NL; j++) {
      G[i][j] = 0;
      for (int k = 0; k < NJ; k++) G[i][j] += E[i][k] * F[k][j];
    }
#pragma endscop
}
