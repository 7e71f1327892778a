#include "peer.h"

static DATA_TYPE forth[W][H], back[W][H];

void kernel(const DATA_TYPE img[restrict W][H], DATA_TYPE res[restrict W][H]) {
#pragma scop
  const DATA_TYPE alpha = 0.25;
  const DATA_TYPE k = (1 - exp(-alpha)) * (1 - exp(-alpha)) / (1 + 2 * alpha * exp(-alpha) - exp(2 * alpha));
  const DATA_TYPE a1 = k, a2 = k * exp(-alpha) * (alpha - 1), a3 = k * exp(-alpha) * (alpha + 1);
  const DATA_TYPE a4 = -k * exp(-2 * alpha), b1 = pow(2, -alpha), b2 = -exp(-2 * alpha);
  for (int i = 0; i < W; i++) {
    DATA_TYPE x = 0, before = 0, earlier = 0;
    for (int j = 0; j < H; j++) {
      forth[i][j] = a1 * img[i][j] + a2 * x + b1 * before + b2 * earlier;
      x = img[i][j];
      earlier = before;
      before = forth[i][j];
    }
  }
  for (int i = 0; i < W; i++) {
    DATA_TYPE x1 = 0, x2 = 0, before = 0, earlier = 0;
    for (int j = H - 1; j >= 0; j--) {
      back[i][j] = a3 * x1 + a4 * x2 + b1 * before + b2 * earlier;
      x2 = x1;
      x1 = img[i][j];
      earlier = before;
      before = back[i][j];
    }
  }
  for (int i = 0; i < W; i++)
    for (int j = 0; j < H; j++) res[i][j] = forth[i][j] + back[i][j];
  for (int j = 0; j < H; j++) {
    DATA_TYPE x = 0, before = 0, earlier = 0;
    for (int i = 0; i < W; i++) {
      forth[i][j] = a1 * res[i][j] + a2 * x + b1 * before + b2 * earlier;
      x = res[i][j];
      earlier = before;
      before = forth[i][j];
    }
  }
  for (int j = 0; j < H; j++) {
    DATA_TYPE x1 = 0, x2 = 0, before = 0, earlier = 0;
    for (int i = W - 1; i >= 0; i--) {
      back[i][j] = a3 * x1 + a4 * x2 + b1 * before + b2 * earlier;
      x2 = x1;
      x1 = res[i][j];
      earlier = before;
      before = back[i][j];
    }
  }
  for (int i = 0; i < W; i++)
    for (int j = 0; j < H; j++) res[i][j] = forth[i][j] + back[i][j];
#pragma endscop
}
