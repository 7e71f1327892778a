#include "schedule/script/primitives/stage_plan.h"

#include <algorithm>

#include "schedule/script/affine_expr.h"
#include "schedule/state/dimension_names.h"

namespace polyte::schedule {

std::string fresh(const std::string& base, const std::function<bool(const std::string&)>& taken) {
  std::string name = base;
  for (int i = 2; taken(name); ++i) name = base + "_" + std::to_string(i);
  return name;
}

bool StagePlan::is_reference() const { return before.basis->find_buffer(buffer) != nullptr; }

ir::Role StagePlan::role() const {
  return is_reference() ? before.basis->buffer(buffer).role : ir::Role::Temp;
}

// For `stage S: A[j, k]` the read has to be S's, at subscripts that are equal as affine
// expressions over S's iterators.
bool StagePlan::takes(const ScheduledStatement& s, const ir::Load& load) const {
  if (load.buffer != buffer || directive.updates_only) return false;
  if (!directive.reader.empty() && s.body.name != directive.reader) return false;
  if (directive.subscripts.empty()) return true;
  if (directive.subscripts.size() != load.indices.size()) return false;
  for (std::size_t d = 0; d < load.indices.size(); ++d) {
    const auto subscript = parse_affine(directive.subscripts[d], s.body.iterators, "iterators",
                                        context.environment.values);
    if (!subscript || load.indices[d].indirect || load.indices[d].affine != *subscript)
      return false;
  }
  return true;
}

bool StagePlan::takes_writes(const ScheduledStatement& s) const {
  return !directive.reads_only() && writes(s, buffer);
}

std::vector<BoxAccess> StagePlan::accesses() const {
  std::vector<BoxAccess> result;
  for (const std::string& user : users) {
    const ScheduledStatement& s = before.at(user);
    for (const AccessRef& ref : accesses_of(s)) {
      if (ref.access.buffer != buffer) continue;
      if (ref.load ? takes(s, *ref.load) : takes_writes(s))
        result.push_back({&s, ref.access.indices});
    }
  }
  return result;
}

Names StagePlan::plain_names() const {
  return schedule::dimension_names(
      *before.basis, of, directive.names.empty() ? Names(box.extent.size()) : directive.names);
}

// A copy's iterators are the prefix, called after the loops above, and one per dimension: w.k
// where a loop k, or a part k.o of it, is above.
Names StagePlan::dimension_names() const {
  Names names = plain_names();
  for (std::size_t d = 0; d < names.size(); ++d)
    if (clashes(names[d]))
      names[d] = fresh(buffer + "." + names[d], [&](const std::string& name) {
        return is_buffer(name) || clashes(name) || has(names, name);
      });
  return names;
}

bool StagePlan::is_buffer(const std::string& name) const {
  return before.basis->find_buffer(name) != nullptr ||
         std::ranges::any_of(before.staged, [&](const StagedBuffer& b) { return b.name == name; });
}

// True where a loop above has this name or is a part of a loop of this name: a copy's loop can
// then still be split.
bool StagePlan::clashes(const std::string& name) const {
  return std::ranges::any_of(prefix, [&](const std::string& loop) {
    return loop == name || loop.rfind(name + ".", 0) == 0;
  });
}

}  // namespace polyte::schedule
