#include "peer.h"

void kernel(const DATA_TYPE r[restrict N], DATA_TYPE y[restrict N]) {
#pragma scop
  DATA_TYPE z[N];
  DATA_TYPE alpha = -r[0], beta = 1;
  y[0] = -r[0];
  for (int k = 1; k < N; k++) {
    DATA_TYPE dot = 0;
    beta = (1 - alpha * alpha) * beta;
    for (int i = 0; i < k; i++) dot += r[k - i - 1] * y[i];
    alpha = -(r[k] + dot) / beta;
    for (int i = 0; i < k; i++) z[i] = y[i] + alpha * y[k - i - 1];
    for (int i = 0; i < k; i++) y[i] = z[i];
    y[k] = alpha;
  }
#pragma endscop
}
