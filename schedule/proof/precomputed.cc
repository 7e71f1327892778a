// Values computed before the statement that reads them, proved on their own: the Program before
// is the one after with the new definition inlined (inlining.cc, the other way round). Then every
// element that is read is one that was defined, earlier, and the definition, which may run at more
// points than the statement did, keeps inside its tensors.
#include <isl/map.h>

#include "schedule/proof/rewrites.h"

namespace polyte::schedule {
namespace {

// What a read of the tensor finds that no run of the definition has left there.
std::optional<Refusal> undefined_read(const IslModel& model, std::size_t definition,
                                      const std::string& tensor) {
  const isl::set defined = access_of(model, definition, tensor, true).cells.range();
  const int buffer = buffer_index(model, tensor);
  for (std::size_t reader = 0; reader < model.statements.size(); ++reader)
    for (const IslAccess& use : model.statements[reader].accesses) {
      if (use.write || use.buffer != buffer) continue;
      const std::string& name = model.statements[reader].statement->body.name;
      if (!is_never_before(model, static_cast<int>(reader), static_cast<int>(definition)))
        return rewrite_fault(name + " reads '" + tensor + "' before it is computed");
      if (!use.cells.range().is_subset(defined))
        return rewrite_fault(name + " reads an element of '" + tensor + "' that is not computed");
    }
  return std::nullopt;
}

}  // namespace

std::optional<Refusal> check_precomputed(const std::shared_ptr<const ir::Program>& before,
                                         const Basis& after, const Rewrite& rewrite) {
  Rewrite inverse = rewrite;
  inverse.after = before;
  if (auto refusal = check_inlining(after, inverse)) {
    for (Counterexample& c : refusal->counterexamples) std::swap(c.reference, c.scheduled);
    return refusal;
  }
  const int definition = statement_index(after.model, rewrite.other);
  if (definition < 0)
    return rewrite_fault("no statement " + rewrite.other + " computes " + rewrite.tensor);
  if (auto refusal =
          undefined_read(after.model, static_cast<std::size_t>(definition), rewrite.tensor))
    return refusal;
  return check_bounds(after.model, {});
}

}  // namespace polyte::schedule
