#include "schedule/script/primitives/stage_plan.h"

#include <algorithm>

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

std::vector<BoxAccess> StagePlan::accesses() const {
  std::vector<BoxAccess> result;
  for (const std::string& user : users)
    for (const AccessRef& ref : accesses_of(before.at(user)))
      if (ref.access.buffer == buffer && !(directive.updates_only && ref.load))
        result.push_back({&before.at(user), ref.access.indices});
  return result;
}

Names StagePlan::plain_names() const {
  return schedule::dimension_names(
      *before.basis, of, directive.names.empty() ? Names(box.extent.size()) : directive.names);
}

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
         std::any_of(before.staged.begin(), before.staged.end(),
                     [&](const StagedBuffer& b) { return b.name == name; });
}

// True where a loop above has this name or is a part of a loop of this name: a copy's loop can
// then still be split.
bool StagePlan::clashes(const std::string& name) const {
  return std::any_of(prefix.begin(), prefix.end(), [&](const std::string& loop) {
    return loop == name || loop.rfind(name + ".", 0) == 0;
  });
}

}  // namespace polyte::schedule
