#include "driver/cli/run_sizes.h"

#include <algorithm>
#include <map>

#include "driver/cli/model_options.h"
#include "support/join_words.h"
#include "support/nearest_word.h"

namespace polyte::cli {
namespace {

class SizeFinder {
 public:
  explicit SizeFinder(const runtime::Session& session) : session_(session) {}

  void see_shape(const std::string& item) {
    const auto [name, shape] = parse_shape(item);
    const auto symbol = std::ranges::find(session_.symbols(), name, &runtime::SymbolSpec::name);
    const auto input = std::ranges::find(session_.inputs(), name, &runtime::TensorSpec::name);
    // A size may have the name of an input: one number is then the size, several are the
    // input's shape.
    if (symbol != session_.symbols().end() && shape.size() == 1)
      note(static_cast<std::size_t>(symbol - session_.symbols().begin()), shape[0],
           "--shape " + item);
    else if (input != session_.inputs().end())
      see_extents(*input, shape, "--shape " + item);
    else
      problems_.push_back("--shape " + item + ": the artifact has no open size and no input '" +
                          name + "'" + meant(name));
  }

  void see_tensor(const GivenTensor& given) {
    const auto input = std::ranges::find(session_.inputs(), given.name, &runtime::TensorSpec::name);
    if (input != session_.inputs().end())
      see_extents(*input, given.shape, "input '" + given.name + "'");
  }

  std::vector<std::int64_t> values() {
    std::vector<std::int64_t> sizes;
    for (std::size_t s = 0; s < session_.symbols().size(); ++s) {
      const runtime::SymbolSpec& symbol = session_.symbols()[s];
      const std::string range = std::to_string(symbol.least) + " to " + std::to_string(symbol.most);
      const auto known = known_.find(s);
      if (known == known_.end())
        problems_.push_back("'" + symbol.name + "' is open (" + range +
                            "): give an input with -i, or --shape " + symbol.name + "=" +
                            std::to_string(symbol.least));
      else if (known->second.first < symbol.least || known->second.first > symbol.most)
        problems_.push_back(known->second.second + ": '" + symbol.name + "' is " +
                            std::to_string(known->second.first) + ", expected " + range);
      // The least value stands in for what is unknown, so that the problems of all sizes are
      // listed.
      sizes.push_back(known == known_.end() ? symbol.least : known->second.first);
    }
    if (!problems_.empty()) throw UserError(ExitStatus::Usage, problems_);
    return sizes;
  }

 private:
  const runtime::Session& session_;

  std::string meant(const std::string& name) const {
    std::vector<std::string> names;
    for (const runtime::SymbolSpec& symbol : session_.symbols()) names.push_back(symbol.name);
    for (const runtime::TensorSpec& input : session_.inputs()) names.push_back(input.name);
    return " (there are " + join_words(names) + ")" + did_you_mean(name, names);
  }

  std::map<std::size_t, std::pair<std::int64_t, std::string>> known_;  // and what said so
  std::vector<std::string> problems_;

  void note(std::size_t symbol, std::int64_t value, const std::string& by) {
    const auto& [known, first] = known_.try_emplace(symbol, value, by).first->second;
    if (known != value)
      problems_.push_back("'" + session_.symbols()[symbol].name + "' is " + std::to_string(known) +
                          " by " + first + " and " + std::to_string(value) + " by " + by);
  }

  // What else is wrong with a shape the session says. An extent of several sizes (N + M) says none
  // of them here.
  void see_extents(const runtime::TensorSpec& input, const std::vector<std::int64_t>& shape,
                   const std::string& by) {
    if (shape.size() != input.shape.size()) return;
    std::size_t open = 0;
    for (std::size_t d = 0; d < shape.size(); ++d) {
      if (input.shape[d] != runtime::kOpenExtent) continue;
      if (const auto symbol = runtime::only_symbol(input.open[open++])) note(*symbol, shape[d], by);
    }
  }
};

}  // namespace

std::vector<std::int64_t> run_sizes(const runtime::Session& session, const GivenTensors& given,
                                    const std::vector<std::string>& shapes) {
  SizeFinder finder(session);
  // Tensors first: where an option contradicts one, the message says what the tensor has.
  for (const GivenTensor& one : given) finder.see_tensor(one);
  for (const std::string& item : shapes) finder.see_shape(item);
  return finder.values();
}

}  // namespace polyte::cli
