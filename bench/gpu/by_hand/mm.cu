// y = max(x w + b, 0) as a person writes it for 4096 by 4096 by 4096: what the assembler says of it stands in
// docs/gpu.md beside Polyte's. Blocks of 128 by 128, 8 by 8 sums a thread in two halves of columns, two copies of the
// operands, of which one is filled by cp.async while the other one is used.
#include <cuda_pipeline.h>

constexpr int kSize = 4096, kTile = 128, kDepth = 32, kThreads = 256, kRow = kTile + 4;

struct Operands {
  float x[2][kDepth][kRow];  // turned: rows are k
  float w[2][kDepth][kTile];
};

__device__ void begin_copies(Operands& to, int at, const float* x, const float* w, int m, int n, int k) {
  const int t = threadIdx.x;
#pragma unroll
  for (int j = 0; j < kDepth / 8; ++j)
#pragma unroll
    for (int i = 0; i < kTile / 32; ++i) {
      const int row = 32 * i + t / 8, column = 8 * j + t % 8;
      __pipeline_memcpy_async(&to.x[at][column][row], &x[(m + row) * kSize + k + column], 4);
    }
#pragma unroll
  for (int i = 0; i < kDepth / 8; ++i) {
    const int row = 8 * i + t / 32, column = 4 * (t % 32);
    __pipeline_memcpy_async(&to.w[at][row][column], &w[(k + row) * kSize + n + column], 16);
  }
  __pipeline_commit();
}

extern "C" __global__ void __launch_bounds__(kThreads, 2)
    mm(const float* __restrict__ x, const float* __restrict__ w, const float* __restrict__ b, float* __restrict__ y) {
  extern __shared__ __align__(16) char memory[];
  Operands& shared = *reinterpret_cast<Operands*>(memory);
  const int m = kTile * blockIdx.y, n = kTile * blockIdx.x, row = 8 * (threadIdx.x / 16), column = 4 * (threadIdx.x % 16);
  float sum[8][2][4] = {};
  begin_copies(shared, 0, x, w, m, n, 0);
  __pipeline_wait_prior(0);
  __syncthreads();
  for (int k = 0; k < kSize / kDepth; ++k) {
    const int at = k % 2;
    if (k + 1 < kSize / kDepth) begin_copies(shared, 1 - at, x, w, m, n, kDepth * (k + 1));
#pragma unroll 4
    for (int i = 0; i < kDepth; ++i) {
      float left[8], right[8];
      *reinterpret_cast<float4*>(left) = *reinterpret_cast<const float4*>(&shared.x[at][i][row]);
      *reinterpret_cast<float4*>(left + 4) = *reinterpret_cast<const float4*>(&shared.x[at][i][row + 4]);
      *reinterpret_cast<float4*>(right) = *reinterpret_cast<const float4*>(&shared.w[at][i][column]);
      *reinterpret_cast<float4*>(right + 4) = *reinterpret_cast<const float4*>(&shared.w[at][i][column + 64]);
#pragma unroll
      for (int r = 0; r < 8; ++r)
#pragma unroll
        for (int c = 0; c < 8; ++c) sum[r][c / 4][c % 4] += left[r] * right[c];
    }
    __pipeline_wait_prior(0);
    __syncthreads();
  }
#pragma unroll
  for (int r = 0; r < 8; ++r)
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const int first = n + 64 * h + column;
      const float4 bias = *reinterpret_cast<const float4*>(&b[first]);
      *reinterpret_cast<float4*>(&y[(m + row + r) * kSize + first]) =
          make_float4(fmaxf(sum[r][h][0] + bias.x, 0), fmaxf(sum[r][h][1] + bias.y, 0),
                      fmaxf(sum[r][h][2] + bias.z, 0), fmaxf(sum[r][h][3] + bias.w, 0));
    }
}
