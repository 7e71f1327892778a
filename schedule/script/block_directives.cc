#include <algorithm>

#include "schedule/script/directive_table.h"
#include "schedule/script/primitives/edit.h"
#include "schedule/script/size_expr.h"

namespace polyte::schedule {

namespace {

void parse_specialize(LineParser& line, std::vector<Operation>& into) {
  if (line.at_end()) LineParser::fail("specialize needs a condition over sizes");
  into.push_back(Specialize{{line.rest()}, {}, {}});
}

// The branch for the sizes at hand. Kernels have constant sizes, so this is decided here and not
// at run time.
Applied apply_specialize(const State& state, const Specialize& d, ScriptEnvironment& environment,
                         Prover* prover) {
  const auto holds = evaluate_size(d.condition.text, environment.values);
  if (!holds) return malformed(holds.error().reason);
  State current = state;
  for (const Directive& directive : *holds != 0 ? d.then : d.otherwise) {
    Applied applied = apply(current, directive, environment, prover);
    if (!applied) return applied;
    current = std::move(*applied);
  }
  return current;
}

// --- printing

std::string print_transaction(const Transaction& transaction) {
  std::string text = "{\n";
  for (const Directive& step : transaction.steps) text += "  " + print(step) + "\n";
  return text + "}";
}

// A directive of a block may have lines of its own: all of them go two further in.
std::string indented(const std::vector<Directive>& directives) {
  std::string text;
  for (const Directive& directive : directives) {
    std::string rest = print(directive);
    while (!rest.empty()) {
      const std::size_t end = std::min(rest.find('\n'), rest.size());
      text += "\n  " + rest.substr(0, end);
      rest.erase(0, end + 1);
    }
  }
  return text;
}

std::string print_specialize(const Specialize& d) {
  return "specialize " + d.condition.text + indented(d.then) +
         (d.otherwise.empty() ? "" : "\nelse" + indented(d.otherwise));
}

}  // namespace

const std::vector<DirectiveRow>& block_directives() {
  static const std::vector<DirectiveRow> kTable = {
      with_environment<Specialize, print_specialize, apply_specialize>("specialize",
                                                                       parse_specialize),
      directive<Transaction, print_transaction, transaction>("", nullptr),
  };
  return kTable;
}

}  // namespace polyte::schedule
