// One operator, compiled and run: y = max(x * w + b, 0).
#include <driver/api/polyte.h>

#include <iostream>

using namespace polyte::api;

int fail(const Failure& failure) {
  for (const std::string& message : failure.messages) std::cerr << message << "\n";
  return static_cast<int>(failure.status);
}

int main() {
  const auto program = parse_notation(
      "acc[m,n] = sum[k] x[m,k]*w[k,n]; y[m,n] = max(acc[m,n] + b[n], 0)", polyte::DType::F32);
  if (!program) return fail(program.error());
  const auto kernel = compile(*program, {.sizes = {{"m", 4}, {"n", 16}, {"k", 8}}});
  if (!kernel) return fail(kernel.error());

  std::vector<float> x(4 * 8, 1), w(8 * 16, 2), b(16, -3), y(4 * 16);
  const auto done = kernel->run({argument<float>("x", x), argument<float>("w", w),
                                 argument<float>("b", b), argument<float>("y", y)},
                                2);
  if (!done) return fail(done.error());
  std::cout << "y[0, 0] = " << y[0] << ", expected 13\n" << kernel->script();
  return y == std::vector<float>(4 * 16, 13) ? 0 : 1;
}
