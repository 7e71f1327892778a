// Softmax of rows of 300 as a warp per row, four rows per block: maxima and sums from register to register, exponentials by
// expf (the one that is not approximate).
extern "C" __global__ void __launch_bounds__(128) softmax(const float* __restrict__ x, float* __restrict__ y) {
  constexpr int kColumns = 300, kEach = (kColumns + 31) / 32;
  const int row = 4 * blockIdx.x + threadIdx.x / 32, lane = threadIdx.x % 32;
  x += row * kColumns, y += row * kColumns;
  float e[kEach], most = -INFINITY, sum = 0;
#pragma unroll
  for (int i = 0; i < kEach; ++i) {
    e[i] = 32 * i + lane < kColumns ? x[32 * i + lane] : -INFINITY;
    most = fmaxf(most, e[i]);
  }
#pragma unroll
  for (int s = 16; s > 0; s /= 2) most = fmaxf(most, __shfl_xor_sync(~0u, most, s));
#pragma unroll
  for (int i = 0; i < kEach; ++i) sum += e[i] = expf(e[i] - most);
#pragma unroll
  for (int s = 16; s > 0; s /= 2) sum += __shfl_xor_sync(~0u, sum, s);
#pragma unroll
  for (int i = 0; i < kEach; ++i)
    if (32 * i + lane < kColumns) y[32 * i + lane] = e[i] / sum;
}
