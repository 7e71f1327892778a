#include "peer.h"

static DATA_TYPE acc[NP];

void kernel(DATA_TYPE A[restrict NR][NQ][NP], const DATA_TYPE C4[restrict NP][NP]) {
#pragma scop
  for (int r = 0; r < NR; r++)
    for (int q = 0; q < NQ; q++) {
      for (int p = 0; p < NP; p++) {
        acc[p] = 0;
        for (int s = 0; s < NP; s++) acc[p] += A[r][q][s] * C4[s][p];
      }
      for (int p = 0; p < NP; p++) A[r][q][p] = acc[p];
    }
#pragma endscop
}
