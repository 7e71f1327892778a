#include "peer.h"

#define greatest(a, b) ((a) > (b) ? (a) : (b))

void kernel(const int8_t seq[restrict N], int32_t table[restrict N][N]) {
#pragma scop
  for (int i = N - 1; i >= 0; i--)
    for (int j = i + 1; j < N; j++) {
      table[i][j] = greatest(table[i][j], table[i][j - 1]);
      table[i][j] = greatest(table[i][j], table[i + 1][j]);
      if (i < j - 1)
        table[i][j] = greatest(table[i][j], table[i + 1][j - 1] + (seq[i] + seq[j] == 3 ? 1 : 0));
      else
        table[i][j] = greatest(table[i][j], table[i + 1][j - 1]);
      for (int k = i + 1; k < j; k++) table[i][j] = greatest(table[i][j], table[i][k] + table[k + 1][j]);
    }
#pragma endscop
}
