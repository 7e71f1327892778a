// What the primitives that rewrite the Program share: finding a reduction that is still as the
// Program has it, and replacing statements in a Program.
#pragma once

#include "schedule/script/primitives/edit.h"

namespace polyte::schedule {

// The statement, where it is as the Program has it: whole, where it stands, reading what
// no stage holds.
Result<std::string, Refusal> unchanged(const State& state, const std::string& statement,
                                       const std::string& what);
// The one update of the tensor, not staged nor recomputed; `what` names the directive for messages.
Result<std::string, Refusal> reduction_of(const State& state, const std::string& tensor,
                                          const std::string& what);
// That of a tensor which has one, or the one of this name: of several into one tensor each has
// to be named.
Result<std::string, Refusal> update_named(const State& state, const std::string& name,
                                          const std::string& what);
// Malformed where a tensor, statement or loop is called so already.
std::optional<Refusal> check_new_tensor(const State& state, const std::string& name);
// One name per dimension of the tensor: as its other statements subscript it, else d0, d1, ...
std::vector<std::string> cell_names(const State& state, const std::string& tensor);
// The Program with one statement replaced by several in its place, and new temporaries;
// conservative, where what results is not well formed.
Result<std::shared_ptr<const ir::Program>, Refusal> replace_statement(
    const ir::Program& program, const std::string& statement, std::vector<ir::Statement> by,
    std::vector<ir::Buffer> temporaries);
// Statements begin..end-1 replaced by others; all but the first `in_front` of them inside a region
// of the outermost level (its body is filled in).
Result<std::shared_ptr<const ir::Program>, Refusal> replace_by_region(
    const ir::Program& program, std::size_t begin, std::size_t end,
    const std::vector<ir::Statement>& by, std::size_t in_front, ir::Region region,
    const std::vector<ir::Buffer>& temporaries);

// Whether an expression of the statement reads the tensor: a value, a guard, a subscript.
bool states_a_read(const ScheduledStatement& s, const std::string& tensor);

// ": it was inlined" where `name` was a tensor, or a statement of one, that is gone; else empty.
std::string inlined_text(const State& state, const std::string& name);

}  // namespace polyte::schedule
