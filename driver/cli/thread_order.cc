#include "driver/cli/thread_order.h"

#include <charconv>

#include "support/error.h"

namespace polyte::cli {
namespace {

[[noreturn]] void refuse(const std::string& order) {
  throw UserError(
      ExitStatus::Usage,
      "--order is '" + order + "', expected forward, backward, random[:SEED] or adverse[:SEED]");
}

std::uint32_t seed_of(const std::string& order, std::size_t colon) {
  std::uint32_t seed = 0;
  const char *begin = order.data() + colon + 1, *end = order.data() + order.size();
  const auto [at, error] = std::from_chars(begin, end, seed);
  if (error != std::errc{} || at != end) refuse(order);
  return seed;
}

}  // namespace

void add_order_option(const Verb& verb, std::string& order) {
  verb.option("--order", order,
              "of --emulate, in which order threads run: forward, backward, random[:SEED], or "
              "adverse[:SEED], where "
              "they also take turns between accesses and copies land late");
}

runtime::EmulatorOptions emulator_options(const std::string& order, bool emulate) {
  if (!order.empty() && !emulate)
    throw UserError(ExitStatus::Usage,
                    "--order: in which order --emulate runs threads, and --emulate is not given");
  if (order.empty() || order == "forward") return {};
  if (order == "backward") return {.order = runtime::ThreadOrder::Backward};
  const std::size_t colon = order.find(':');
  const std::string word = order.substr(0, colon);
  if (word != "random" && word != "adverse") refuse(order);
  // A seed that is not given keeps its default: a run can be repeated either way.
  runtime::EmulatorOptions options =
      word == "adverse" ? runtime::kAdverse
                        : runtime::EmulatorOptions{.order = runtime::ThreadOrder::Random};
  if (colon != std::string::npos) options.seed = seed_of(order, colon);
  return options;
}

}  // namespace polyte::cli
