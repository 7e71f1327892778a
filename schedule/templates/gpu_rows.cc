// Roles of the templates for rows on a GPU: softmax, norms. A block has a row, or several. A sum
// of n terms is a tree, in gpu_rows.sched of three levels with Threads and Few as the widths:
//
//   n terms -> Threads partial sums, one per thread    (parts, in shared memory)
//           -> Few of these                            (few)
//           -> 1
#include <algorithm>

#include "ir/relations.h"
#include "schedule/cost/nest_accesses.h"
#include "schedule/cost/row_chain.h"
#include "schedule/templates/nests.h"

namespace polyte::schedule {
namespace {

// At most 16 elements per lane of a warp; at least one.
constexpr std::int64_t kShortRow = 512, kShortestRow = 32;

using Names = std::map<std::string, std::string>;

class GpuRows {
 public:
  GpuRows(const RowQuestion& question, const RowsFound& found, std::string suffix)
      : program_(*question.program),
        question_(question),
        found_(found),
        suffix_(std::move(suffix)) {}

  // The longest loop along a row among the passes; 0: no pass has one.
  std::int64_t longest_row() const {
    std::int64_t length = 0;
    for (const RowPass& pass : found_.chain.passes)
      if (!pass.own.empty()) length = std::max(length, extent(*pass.body.front(), pass.own.back()));
    return length;
  }

  Result<Filling> run(const TemplateFile& file) {
    filling_.groups = found_.groups;
    const RowChain& chain = found_.chain;
    if (chain.rows.empty()) return Decline{"there is one row"};
    for (const RowPass& pass : chain.passes)
      if (!pass.own.empty() && extent(*pass.body.front(), pass.own.back()) < kShortestRow)
        return Decline{"rows are short"};
    // A block has four short rows with a warp along each, or one long row with all its threads.
    const bool is_short = longest_row() <= kShortRow;
    filling_.values = {{"Rows", is_short ? "4" : "1"},
                       {"Threads", is_short ? "32" : "256"},
                       {"Few", is_short ? "8" : "16"}};
    // gpu_rows_warp.sched has no such params.
    std::erase_if(filling_.values,
                  [&](const auto& value) { return !file.params.contains(value.first); });
    Scope& scope = filling_.scope;
    scope.lists["rows"] = {chain.rows.begin(), chain.rows.end() - 1};
    scope.names = {{"row", chain.rows.back()}, {"first", found_.statements.back()->name}};
    for (const ir::Statement* s : found_.statements)
      add(scope, "statement", {{"statement", s->name}});
    for (const char* group : {"kept", "once", "along"}) scope.groups[group];
    for (const RowPass& pass : chain.passes) add_pass(pass);
    return std::move(filling_);
  }

 private:
  const ir::Program& program_;
  const RowQuestion& question_;
  const RowsFound& found_;
  const std::string suffix_;
  Filling filling_;

  static Scope& add(Scope& scope, const char* group, Names names) {
    return scope.groups[group].emplace_back(Scope{std::move(names), {}, {}});
  }
  std::int64_t extent(const ir::Statement& s, const std::string& loop) const {
    const auto facts = facts_of(*question_.reference, s);
    return find(facts, loop)->extent;
  }
  std::string fresh(std::string name) const {
    while (program_.find_buffer(name) || program_.find_statement(name)) name += "_";
    return name;
  }

  // A pass goes along a row once: the loop of lanes is its last own loop, others run within a
  // thread. Sums and definitions are in the order of the Program, so that a definition finds what
  // it reads.
  void add_pass(const RowPass& pass) {
    Scope& scope = add(filling_.scope, "pass", {});
    for (const char* group : {"define", "sum", "after"}) scope.groups[group];
    scope.lists["own"];
    if (!pass.own.empty()) {
      scope.names["lane"] = pass.own.back();
      scope.lists["own"].assign(pass.own.begin(), pass.own.end() - 1);
    }
    for (const ir::Statement* s : pass.body) {
      if (std::ranges::find(pass.sums, s) == pass.sums.end()) {
        add(scope, "define", {{"define", s->name}});
        keep(*s);
        continue;
      }
      const std::string& tensor = s->writes[0].buffer;
      Scope& sum =
          add(scope, "sum",
              {{"sum", tensor},
               {"parts", fresh(tensor + "_p")},
               {"few", fresh(tensor + "_q")},
               // Names of the partial sums as they are halved from step to step of the tree.
               {"few8", fresh(tensor + "_q") + "_8"},
               {"few4", fresh(tensor + "_q") + "_4"},
               {"few2", fresh(tensor + "_q") + "_2"},
               {"update", s->name}});
      sum.groups["begun"];
      // A sum that goes on from its tensor's old value has none.
      if (const ir::Statement* init = initial_value(found_.statements, *s))
        add(sum, "begun", {{"init", init->name}});
      if (!is_reorderable(*s)) filling_.reassociated.insert(pass.own.back());
      keep(*s);
    }
    for (const ir::Statement* s : pass.after) {
      add(scope, "after", {{"after", s->name}});
      keep(*s);
    }
  }

  // What no other nest reads stays in the block, as long as the elements of one row are at most 8
  // KiB.
  void keep(const ir::Statement& s) {
    constexpr std::int64_t kMostBytes = 8 * 1024;
    const std::string& tensor = s.writes[0].buffer;
    std::int64_t bytes = size_in_bytes(program_.buffer(tensor).dtype);
    const auto is_row = [&](const std::string& it) {
      return std::ranges::find(found_.chain.rows, it) != found_.chain.rows.end();
    };
    for (const std::string& it : ir::free_iterators(s))
      if (!is_row(it)) bytes *= extent(s, it);
    if (bytes > kMostBytes || !stays_inside(program_, tensor, s, found_.statements)) return;
    // Over rows alone, one value per row (a maximum); else along the row as well.
    const bool is_once = std::ranges::all_of(ir::free_iterators(s), is_row);
    add(filling_.scope, "kept", {{"kept", tensor}, {"statement", s.name}});
    const char* const group = is_once ? "once" : "along";
    add(filling_.scope, group, {{group, tensor}, {"statement", s.name}});
  }
};

}  // namespace

OpenNest open_gpu_rows(const KernelSoFar& kernel, std::span<const StatementGroup> groups,
                       bool keep_order) {
  std::vector<Statements> statements;
  for (const StatementGroup& group : groups) statements.push_back(statements_of(group));
  const RowQuestion question{&kernel.program, &kernel.reference, &kernel.machine, {}, keep_order};
  const RowsFound found = find_rows(question, statements);
  auto facts = machine_facts(kernel.machine, DType::F32);
  facts["row_length"] =
      found.groups == 0 ? 0 : GpuRows(question, found, kernel.suffix()).longest_row();
  return {"gpu_rows", std::move(facts),
          [&kernel, question, found](const TemplateFile& file) -> Result<Filling> {
            if (found.groups == 0) return Decline{"no chain of rows"};
            Result<Filling> filling = GpuRows(question, found, kernel.suffix()).run(file);
            if (filling) filling->staged = kernel.staged;
            return filling;
          }};
}

}  // namespace polyte::schedule
