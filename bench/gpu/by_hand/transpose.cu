// y = transposed x, 8192 by 8192: tiles of 32 by 32 through shared memory, rows one element longer.
extern "C" __global__ void __launch_bounds__(256) transpose(const float* __restrict__ x, float* __restrict__ y) {
  constexpr int kSize = 8192, kTile = 32;
  __shared__ float tile[kTile][kTile + 1];
  const int i = kTile * blockIdx.y, j = kTile * blockIdx.x, lane = threadIdx.x % 32, row = threadIdx.x / 32;
#pragma unroll
  for (int r = 0; r < kTile; r += 8) tile[row + r][lane] = x[(j + row + r) * kSize + i + lane];
  __syncthreads();
#pragma unroll
  for (int r = 0; r < kTile; r += 8) y[(i + row + r) * kSize + j + lane] = tile[lane][row + r];
}
