#include "schedule/script/directive_table.h"
#include "schedule/script/print_words.h"

namespace polyte::schedule {

namespace {

void parse_compute_inline(LineParser& line, std::vector<Operation>& into) {
  if (line.accept("all")) return into.push_back(InlineAll{});
  for (const std::string& tensor : line.names(",", "a tensor"))
    into.push_back(ComputeInline{tensor});
}

// compute_at t at y:x.o once per x
void parse_compute_at(LineParser& line, std::vector<Operation>& into) {
  const std::string producer = line.name("a tensor");
  line.accept("at");
  ComputeAt directive = {producer, line.loop_name(), {}};
  directive.per = line.once_per();
  into.push_back(directive);
}

void parse_compute_root(LineParser& line, std::vector<Operation>& into) {
  for (const std::string& tensor : line.names(",", "a tensor")) into.push_back(ComputeRoot{tensor});
}

// store_at t at u.o in stack
void parse_store_at(LineParser& line, std::vector<Operation>& into) {
  StoreAt directive;
  directive.tensor = line.name("a tensor");
  line.accept("at");
  directive.at = line.loop_name();
  if (line.accept("in")) directive.memory = line.memory();
  into.push_back(directive);
}

// reverse_compute_at y at k.o when last k.o
void parse_reverse_compute_at(LineParser& line, std::vector<Operation>& into) {
  const std::string consumer = line.name("a statement");
  line.accept("at");
  ReverseComputeAt directive = {consumer, line.loop_name(), {}};
  if (line.accept("when")) directive.when = line.when();
  into.push_back(directive);
}

// compute_with A, B at L: the loops of the two are one, down to L.
void parse_compute_with(LineParser& line, std::vector<Operation>& into) {
  ComputeWith directive;
  directive.statement = line.name("a statement");
  line.expect(",");
  directive.with = line.name("a statement");
  line.expect("at");
  directive.through = line.name("a loop");
  into.push_back(directive);
}

void parse_place(LineParser& line, std::vector<Operation>& into) {
  const std::string statement = line.name("a statement");
  line.expect("when");
  into.push_back(Place{statement, line.when()});
}

// nest kernel: par n.o > { .. }: `kernel:` names the nest. A statement has no colon behind it
// here, so a name with one is the nest's.
void parse_nest(LineParser& line, std::vector<Operation>& into) {
  const std::string name = line.optional_selector();
  into.push_back(Nest{name, line.node()});
}

// --- printing

std::string print_compute_inline(const ComputeInline& d) { return "compute_inline " + d.tensor; }

std::string print_inline_all(const InlineAll&) { return "compute_inline all"; }

std::string print_compute_at(const ComputeAt& d) {
  return "compute_at " + d.producer + " at " + print(d.at) + print_per(d.per);
}

std::string print_compute_root(const ComputeRoot& d) { return "compute_root " + d.tensor; }

std::string print_store_at(const StoreAt& d) {
  std::string text = "store_at " + d.tensor + " at " + print(d.at);
  if (d.memory) text += " in " + ir::to_string(*d.memory);
  return text;
}

std::string print_compute_with(const ComputeWith& d) {
  return "compute_with " + d.statement + ", " + d.with + " at " + d.through;
}

std::string print_reverse_compute_at(const ReverseComputeAt& d) {
  return "reverse_compute_at " + d.consumer + " at " + print(d.at) + print(d.when);
}

std::string print_place(const Place& d) { return "place " + d.statement + print(d.when); }

// A nest that is one hole was the line `...`.
std::string print_nest_directive(const Nest& d) {
  return is_rest(d.tree) ? kRestHole : "nest " + selector(d.name) + print(d.tree);
}

}  // namespace

const std::vector<DirectiveRow>& placement_directives() {
  static const std::vector<DirectiveRow> kTable = {
      directive<ComputeInline, print_compute_inline, compute_inline>("compute_inline",
                                                                     parse_compute_inline),
      directive<InlineAll, print_inline_all, inline_all>("", nullptr),
      directive<ComputeAt, print_compute_at, compute_at>("compute_at", parse_compute_at),
      directive<ComputeRoot, print_compute_root, compute_root>("compute_root", parse_compute_root),
      directive<StoreAt, print_store_at, store_at>("store_at", parse_store_at),
      directive<ComputeWith, print_compute_with, compute_with>("compute_with", parse_compute_with),
      directive<ReverseComputeAt, print_reverse_compute_at, reverse_compute_at>(
          "reverse_compute_at", parse_reverse_compute_at),
      directive<Place, print_place, place>("place", parse_place),
      directive<Nest, print_nest_directive, nest>("nest", parse_nest),
  };
  return kTable;
}

}  // namespace polyte::schedule
