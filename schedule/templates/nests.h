// What the templates share: the Program cut into nests, facts of a statement's iterators, and how
// the holes of a template are filled for a nest.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "ir/program.h"
#include "schedule/cost/copy_threads.h"
#include "schedule/state/state.h"
#include "schedule/templates/scope.h"
#include "schedule/templates/template_text.h"
#include "support/machine.h"
#include "support/result.h"

namespace polyte::schedule {

// Consecutive statements that one template schedules together.
struct StatementGroup {
  const ir::Statement* init = nullptr;  // of a reduction; null where it adds to what is there
  const ir::Statement* update = nullptr;
  // Over the reduction's free iterators, or the definition's, after it.
  std::vector<const ir::Statement*> epilogue;
  const ir::Statement* plain = nullptr;  // a nest of definitions: the first
};

// In text order. A reduction takes along the definitions behind it that run over the same iterators
// and domain; so does a definition those that read it, or one another.
std::vector<StatementGroup> group_statements(const ir::Program& program);

struct IteratorFacts {
  std::string name;
  std::int64_t begin = 0, extent = 0;  // of the bounding box
  bool reduction = false;
};
std::vector<IteratorFacts> facts_of(const State& reference, const ir::Statement& statement);
// Null if absent.
const IteratorFacts* find(const std::vector<IteratorFacts>& facts, const std::string& iterator);

// Stride of an iterator in the first write (0: does not occur); nullopt: not linear.
std::optional<std::int64_t> write_stride(const ir::Program& program, const ir::Statement& statement,
                                         const std::string& iterator);

// Of a group, in order.
std::vector<const ir::Statement*> statements_of(const StatementGroup& group);

// What the nests so far have left for the next ones.
struct KernelSoFar {
  const ir::Program& program;
  const State& reference;
  const Machine& machine;
  int number = 0;                     // of the next nest
  std::set<std::string> staged = {};  // for the whole kernel

  // Behind the params of the next nest, so that each has its own; empty: the first nest.
  std::string suffix() const { return number == 0 ? "" : std::to_string(number); }
};

// A template whose holes are filled for a nest.
struct Filling {
  std::size_t groups = 1;                     // of statements that the nest takes
  Scope scope;                                // what its roles stand for
  std::map<std::string, std::string> values;  // of its params that are holes
  std::set<std::string> reassociated;         // loops whose terms change places
  // For the whole kernel, with those of the nests before.
  std::set<std::string> staged;
  std::set<std::string> reused;  // results in whose memory temporaries lie
};

// A nest that waits for its template.
struct OpenNest {
  std::string structure;                      // structures.h
  std::map<std::string, std::int64_t> facts;  // that a condition of the table may ask for
  // Declined: this template is not for this nest, and why.
  std::function<Result<Filling>(const TemplateFile&)> fill_holes;
};

// They keep the kernel and the statements by reference.
OpenNest open_reduction(const KernelSoFar& kernel, const StatementGroup& group);
// A statement in an ordered region, whose other loops are independent; nullopt where they are not,
// or others share it.
std::optional<OpenNest> open_recurrence(const KernelSoFar& kernel, const StatementGroup& group);
OpenNest open_pointwise(const KernelSoFar& kernel, const StatementGroup& group);
// From the front, as many groups as run over the same rows and go together.
OpenNest open_rows(const KernelSoFar& kernel, std::span<const StatementGroup> groups,
                   bool keep_order);
// The same for a GPU.
OpenNest open_gpu_product(const KernelSoFar& kernel, const StatementGroup& group, bool keep_order);
OpenNest open_gpu_sum(const KernelSoFar& kernel, const StatementGroup& group);
OpenNest open_gpu_pointwise(const KernelSoFar& kernel, const StatementGroup& group);
// Two contractions with the softmax of a row between them, from the front; nullopt where there are
// none. By tensor cores, and by the threads' own units.
std::optional<OpenNest> open_gpu_attention_warps(const KernelSoFar& kernel,
                                                 std::span<const StatementGroup> groups);
std::optional<OpenNest> open_gpu_attention(const KernelSoFar& kernel,
                                           std::span<const StatementGroup> groups);
OpenNest open_gpu_rows(const KernelSoFar& kernel, std::span<const StatementGroup> groups,
                       bool keep_order);

// Roles of a tensor that threads of a GPU copy, `vector` neighbours of the last loop at once: which
// loop is cut, and the loops whose iterations are threads.
void add_copy(Scope& operand, const std::string& tensor, std::vector<CopyLoop> loops,
              std::int64_t vector, std::int64_t threads);

// Roles of a chain: the definitions `after` the first at its points, and what of it stays
// in registers.
void add_chain(Scope& scope, const ir::Program& program, const ir::Statement& first,
               const std::vector<const ir::Statement*>& after);

// True where a sum and its neighbours read the same elements along a loop: pooling, stencils.
bool reads_windows(const ir::Statement& update);
// Machine and sizes as conditions and domains have them: L, cores, registers, L1, L2, L3 in bytes.
std::map<std::string, std::int64_t> machine_facts(const Machine& machine, DType type);
// The values that a file allows a param: its domain, or the number that stands there; empty: any.
std::set<std::int64_t> allowed_values(const TemplateFile& file, const std::string& param,
                                      const Machine& machine, DType type);

}  // namespace polyte::schedule
