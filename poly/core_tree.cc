// What is asked of the tree that isl's schedule has become.
#include <algorithm>

#include "poly/affine_core.h"

namespace polyte::poly {

const ir::Statement* Cluster::update() const {
  for (const ir::Statement* s : statements) {
    if (s->combiner != ir::Combiner::None) return s;
  }
  return nullptr;
}

std::vector<const Cluster*> clusters_of(const Core& core) {
  std::vector<const Cluster*> all;
  if (const auto* cluster = std::get_if<Cluster>(&core->op)) return {cluster};
  if (const auto* band = std::get_if<Band>(&core->op)) return clusters_of(band->child);
  for (const Core& child : std::get<CoreSequence>(core->op).children) {
    for (const Cluster* cluster : clusters_of(child)) all.push_back(cluster);
  }
  return all;
}

// Sequences of sequences are one list; a band ends the search, as its children share its loops.
std::vector<Core> top_nests(const Core& core) {
  const auto* sequence = std::get_if<CoreSequence>(&core->op);
  if (!sequence) return {core};
  std::vector<Core> nests;
  for (const Core& child : sequence->children)
    for (Core& nest : top_nests(child)) nests.push_back(std::move(nest));
  return nests;
}

bool is_mapped(const Core& core) {
  if (const auto* band = std::get_if<Band>(&core->op)) {
    const bool here = std::ranges::any_of(
        band->members, [](const BandMember& member) { return !member.rows.empty(); });
    return here || is_mapped(band->child);
  }
  if (const auto* sequence = std::get_if<CoreSequence>(&core->op))
    return std::ranges::any_of(sequence->children, is_mapped);
  return false;
}

}  // namespace polyte::poly
