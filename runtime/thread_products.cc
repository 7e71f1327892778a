#include "runtime/thread_products.h"

#include <bit>

#include "runtime/warpgroup_instructions.h"

namespace polyte::runtime {

std::uint32_t ThreadProducts::sum(const Product& product, int thread, std::size_t reg,
                                  std::uint32_t in) {
  const auto number = static_cast<int>(reg);
  const int place = row_of_sum(thread, number) * product.columns + column_of_sum(thread, number);
  const double added = product.sums[static_cast<std::size_t>(place)];
  return std::bit_cast<std::uint32_t>(static_cast<float>(std::bit_cast<float>(in) + added));
}

// Late sums: a register gets a token, a NaN with a payload that no arithmetic makes, and the
// sum is known only after the wait. Code that uses the register before, as it must not,
// computes with a NaN, and the emulated outputs show it.
void ThreadProducts::begin(std::shared_ptr<Product> product, int thread, std::int64_t count,
                           const std::uint32_t* in, std::uint32_t* out, bool late) {
  constexpr std::uint32_t kToken = 0x7fa00000, kTokens = 0x200000;  // signalling: no sum is one
  Begun begun{std::move(product), thread, {in, in + count}, {}};
  for (std::size_t i = 0; i < begun.in.size(); ++i) {
    if (late) begun.tokens.push_back(kToken + tokens_++ % kTokens);
    out[i] = late ? begun.tokens[i] : sum(*begun.product, thread, i, begun.in[i]);
  }
  groups_.back().push_back(std::move(begun));
}

// Groups end in order. A product's input may be the token of an earlier product of the same
// thread, which was computed before: in order, so its sum is known.
std::vector<std::shared_ptr<Product>> ThreadProducts::wait(std::int64_t pending) {
  is_open = false;
  std::vector<std::shared_ptr<Product>> done;
  while (static_cast<std::int64_t>(groups_.size()) - 1 > pending) {
    for (const Begun& begun : groups_.front()) {
      for (std::size_t i = 0; i < begun.tokens.size(); ++i)
        sums_[begun.tokens[i]] = sum(*begun.product, begun.thread, i, value_of(begun.in[i]));
      if (--begun.product->threads == 0) done.push_back(begun.product);
    }
    groups_.erase(groups_.begin());
  }
  return done;
}

std::uint32_t ThreadProducts::value_of(std::uint32_t bits) const {
  const auto known = sums_.find(bits);
  return known != sums_.end() ? known->second : bits;
}

}  // namespace polyte::runtime
