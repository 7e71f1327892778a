// Holes and roles of the template for attention in one pass by the threads' own units.
#include "schedule/templates/gpu_attention_roles.h"

namespace polyte::schedule {
namespace {

constexpr std::int64_t kVector = 4;  // floats of an access

class GpuAttention : AttentionRoles {
 public:
  GpuAttention(const KernelSoFar& kernel, AttentionFound found)
      : AttentionRoles(kernel, std::move(found)) {}

  Result<Filling> fill(const TemplateFile& file) {
    if (const auto declined = why_not_by_threads(program(), form_, sizes_)) return *declined;
    if (!choose(file)) return Decline{"no tile of keys fits shared memory"};
    filling_.reassociated = {form_.key};
    const std::vector<std::string> scored = scored_statements();
    describe(tile_.rows, tile_.keys, tile_.depth, scored);
    filling_.values["Tm"] = std::to_string(tile_.thread_rows);
    statements(scored);
    kept();
    operand(*form_.queries, form_.step, form_.row, 1);
    operand(*form_.keys, form_.step, form_.key, 1);
    operand(*form_.values, form_.key, form_.column, sizes_.columns % kVector == 0 ? kVector : 1);
    return std::move(filling_);
  }

 private:
  AttentionTile tile_;

  // A thread has the most rows of a tile that leave at least eight groups of them, that is 8 * Wn
  // threads per block: a key's value is read once for all rows of a thread.
  bool choose(const TemplateFile& file) {
    tile_.rows = most_rows(file);
    tile_.lanes = *allowed(file, "Wn").begin();
    const std::set<std::int64_t> of_thread = allowed(file, "Tm");
    tile_.thread_rows = *of_thread.begin();
    for (const std::int64_t rows : of_thread)
      if (tile_.rows / rows >= 8) tile_.thread_rows = rows;
    return choose_keys(
        file, allowed(file, "Bn"),
        [&](const AttentionTile& tile) { return tile.shared_bytes(sizes_); }, tile_);
  }

  std::vector<std::string> scored_statements() const {
    std::vector<std::string> scored = {form_.scores_init->name, form_.scores->name};
    for (const ir::Statement* s : form_.made_of_scores) scored.push_back(s->name);
    scored.push_back(form_.weight->name);
    return scored;
  }

  // `tiled` are the statements that run over rows and keys of a tile, threads along both; the parts
  // of maxima and totals that split_reduction makes are among them.
  void statements(const std::vector<std::string>& scored) {
    filling_.scope.groups["made"];
    for (const ir::Statement* s : form_.made_of_scores) add("made", s->name);
    for (const std::string& s : scored) add("scored", s), add("tiled", s);
    for (const char* tensor : {"tops", "parts"})
      for (const char* part : {".init", ".update"})
        add("tiled", filling_.scope.names.at(tensor) + part);
  }

  // Scores, and what is made of them, stay in the registers of the thread that has computed them.
  // The weights do not: other threads multiply them by the values.
  void kept() {
    std::vector<const ir::Statement*> kept = {form_.scores};
    kept.insert(kept.end(), form_.made_of_scores.begin(), form_.made_of_scores.end());
    for (const ir::Statement* s : kept) {
      Scope& each =
          filling_.scope.groups["kept"].emplace_back(Scope{{{"kept", written(*s)}}, {}, {}});
      dimensions_of(each, "", written(*s), s->writes[0]);
    }
  }

  // The layout of a copy in shared memory is [rest, inner, side], so that threads which run along
  // `side` read neighbouring words. The copy itself takes vectors only where `side` is the last
  // dimension of the tensor, too: else its elements change places on the way.
  void operand(const ir::Load& load, const std::string& other, const std::string& side,
               std::int64_t vector) {
    const bool is_along = *load.indices.back().affine.as_symbol() == side;
    Scope& operand = add_operand(load, copy_loops(load, tile_.rows, tile_.keys),
                                 is_along ? vector : 1, tile_.threads());
    std::string inner;
    operand.lists["rest"];
    for (std::size_t d = 0; d < load.indices.size(); ++d) {
      const std::string& name = operand.lists["dims"][d];
      const std::string loop = *load.indices[d].affine.as_symbol();
      if (loop == side)
        operand.names["side"] = name;
      else if (loop == other)
        inner = name;
      else
        operand.lists["rest"].push_back(name);
    }
    operand.lists["rest"].push_back(inner);
    // One word more a row puts the columns that a transposed copy writes into different banks; four
    // keep rows aligned for vectors of four.
    operand.names["padding"] = side == form_.key ? "1" : std::to_string(kVector);
  }
};

}  // namespace

std::optional<OpenNest> open_gpu_attention(const KernelSoFar& kernel,
                                           std::span<const StatementGroup> groups) {
  auto found = find_attention(kernel, groups);
  if (!found) return std::nullopt;
  const auto attention = std::make_shared<GpuAttention>(kernel, *std::move(found));
  return OpenNest{"gpu_attention", machine_facts(kernel.machine, DType::F32),
                  [attention](const TemplateFile& file) { return attention->fill(file); }};
}

}  // namespace polyte::schedule
