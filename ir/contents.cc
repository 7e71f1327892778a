#include <cmath>

#include "ir/arithmetic.h"
#include "ir/interpret.h"
#include "support/checked.h"

namespace polyte::ir {

Contents make_contents(DType dtype, std::vector<std::int64_t> shape) {
  const std::int64_t bytes = checked_mul(checked_product(shape), size_in_bytes(dtype));
  Contents contents{dtype, std::move(shape), {}};
  contents.bytes.resize(static_cast<std::size_t>(bytes));
  return contents;
}

double get_real(const Contents& contents, std::int64_t position) {
  const std::byte* address = contents.bytes.data() + position * size_in_bytes(contents.dtype);
  return arithmetic::cast(DType::F64, contents.dtype, arithmetic::load(contents.dtype, address))
      .real;
}

void set_real(Contents& contents, std::int64_t position, double value) {
  std::byte* address = contents.bytes.data() + position * size_in_bytes(contents.dtype);
  arithmetic::store(contents.dtype, address,
                    arithmetic::cast(contents.dtype, DType::F64, arithmetic::of_real(value)));
}

}  // namespace polyte::ir
