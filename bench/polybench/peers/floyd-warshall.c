#include "peer.h"

#define least(a, b) ((a) < (b) ? (a) : (b))

void kernel(int32_t path[restrict N][N]) {
#pragma scop
  for (int k = 0; k < N; k++)
    for (int i = 0; i < N; i++)
      for (int j = 0; j < N; j++) path[i][j] = least(path[i][j], path[i][k] + path[k][j]);
#pragma endscop
}
