#include "driver/lab/problems.h"

#include "support/error.h"
#include "support/stable_sort.h"

namespace polyte::lab {
namespace {

// Larger than any line: problems of no line are sorted behind all others.
constexpr std::size_t kWholeFile = ~std::size_t{0};

}  // namespace

// Kept with its line: keys are read in the order of the code, and the messages are to follow the
// file.
void Problems::add_at(std::size_t line, const std::string& what) {
  std::string place;
  if (!origin_.empty()) place = origin_ + (line > 0 ? ":" + std::to_string(line) : "") + ": ";
  list_.emplace_back(line > 0 ? line : kWholeFile, place + what);
}

void Problems::throw_if_any() const {
  if (list_.empty()) return;
  auto sorted = list_;
  sort_stably(sorted, {}, [](const auto& one) { return one.first; });
  std::vector<std::string> texts;
  for (const auto& [line, text] : sorted) texts.push_back(text);
  throw UserError(ExitStatus::InvalidInput, texts);
}

}  // namespace polyte::lab
