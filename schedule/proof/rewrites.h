// What the proofs of rewrites share: two Programs that agree but for one group of statements.
// Internal to schedule/proof.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "schedule/proof/prover_impl.h"

namespace polyte::schedule {

// An Illegal refusal without an instance: the two Programs differ in a way that the rewrite
// does not explain.
Refusal rewrite_fault(const std::string& headline);

// Statements begin..end-1 of the Program before, replaced by as many as the Program after has more.
struct Group {
  std::size_t begin = 0, end = 0;
};
// What differs besides the group and the new temporaries; nothing where all else is equal.
// `region`: (statements in front of it, its text as flat_order has it); the rest of the group
// is inside.
struct GroupRegion {
  std::size_t in_front = 0;
  std::string text;
};
std::optional<std::string> replaced_group(const ir::Program& before, const ir::Program& after,
                                          const Group& group,
                                          const std::vector<std::string>& temporaries,
                                          const std::optional<GroupRegion>& region = std::nullopt);
// The same without statement `gone` of the Program before and without the temporary that
// it alone writes.
std::optional<std::string> dropped_statement(const ir::Program& before, const ir::Program& after,
                                             std::size_t gone, const std::string& temporary);
std::string region_text(const std::string& iterator, const ir::Affine& begin, const ir::Affine& end,
                        int step);
// An access of the model's statement to this buffer.
const IslAccess& access_of(const IslModel& model, std::size_t statement, const std::string& buffer,
                           bool write);
// True where both do the same to operands of which `match` holds, one pair after the other;
// false for leaves.
bool same_operation(const ir::Expr& now, const ir::Expr& then,
                    const std::function<bool(const ir::Expr& now, const ir::Expr& then)>& match);
// True where the statement reads or writes the buffer.
bool touches(const ir::Statement& s, const std::string& buffer);

}  // namespace polyte::schedule
