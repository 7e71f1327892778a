// Holes and roles of the template for attention in one pass by tensor cores, of 16-bit numbers.
#include "schedule/cost/nest_accesses.h"
#include "schedule/templates/gpu_attention_roles.h"

namespace polyte::schedule {
namespace {

class GpuWarpAttention : AttentionRoles {
 public:
  GpuWarpAttention(const KernelSoFar& kernel, AttentionFound found)
      : AttentionRoles(kernel, std::move(found)) {}

  Result<Filling> fill(const TemplateFile& file) {
    const auto by = find_warp_attention(program(), form_, sizes_, kernel_.machine);
    if (!by) return by.error();
    if (!choose(file, by->score_bytes))
      return Decline{"no tile of keys leaves no rest and fits shared memory"};
    filling_.reassociated = {form_.key, form_.step};
    std::vector<std::string> scored = {form_.scores_init->name, form_.scores->name, score().name};
    for (const std::string& s : scored) add("scored", s), add("matrices", s);
    const std::vector<std::string> weighed = weighed_statements();
    scored.insert(scored.end(), weighed.begin(), weighed.end());
    describe(tile_.rows, tile_.keys, tile_.depth, scored);
    names(*by);
    statements(weighed);
    results();
    for (const ir::Load* load : {form_.queries, form_.keys, form_.values}) operand(*load);
    return std::move(filling_);
  }

 private:
  WarpAttentionTile tile_;

  // The last statement that is made of the scores, whose values the maximum reads.
  const ir::Statement& score() const { return *form_.made_of_scores.back(); }
  // What the second product multiplies by the values: the shares, where weights are divided first.
  const ir::Statement& multiplied() const { return form_.share ? *form_.share : *form_.weight; }

  std::vector<std::string> weighed_statements() const {
    std::vector<std::string> weighed = {form_.weight->name};
    if (form_.share) weighed.push_back(form_.share->name);
    return weighed;
  }

  bool choose(const TemplateFile& file, std::int64_t score_bytes) {
    tile_.rows = most_rows(file);
    std::set<std::int64_t> lengths = allowed(file, "Bn");
    // Instructions of a warp have no guards: a tile of keys that is not full would add what lies
    // behind the keys.
    std::erase_if(lengths, [&](std::int64_t keys) { return sizes_.keys % keys != 0; });
    return choose_keys(
        file, lengths,
        [&](const WarpAttentionTile& tile) { return tile.shared_bytes(sizes_, score_bytes); },
        tile_);
  }

  void names(const WarpAttention& by) {
    Scope& scope = filling_.scope;
    scope.names["score"] = score().name;
    scope.names["scores_sum"] = written(*form_.scores);
    scope.names["softmax_of"] = written(score());
    scope.names["multiplied"] = written(multiplied());
    scope.names["top_halves"] = fresh(written(*form_.maximum) + "_h");
    scope.names["part_halves"] = fresh(written(*form_.total) + "_h");
    scope.names["scores_by"] = by.of_scores->name;
    scope.names["sum_by"] = by.of_product->name;
    dimensions_of(scope, "softmax_of", written(score()), score().writes[0]);
    dimensions_of(scope, "multiplied", written(multiplied()), multiplied().writes[0]);
  }

  void statements(const std::vector<std::string>& weighed) {
    const auto& names = filling_.scope.names;
    filling_.scope.groups["inner"];
    for (const ir::Statement* s : form_.made_of_scores)
      if (s != &score()) add("inner", written(*s));
    for (const std::string& s : weighed) add("weighed", s), add("halved", s);
    for (const char* of_row : {"tops", "parts", "top_halves", "part_halves"})
      for (const char* step : {".init", ".update"}) add("halved", names.at(of_row) + step);
    for (const char* of_row : {"tops", "parts"})
      for (const char* step : {".init", ".update"}) add("parted", names.at(of_row) + step);
    for (const std::string& s :
         {names.at("sum_init"), names.at("sum") + ".scale", names.at("sum_update")})
      add("matrices", s);
  }

  // What is made of the sums at their point stays in registers where no other statement reads it.
  // The last statement's tensor is the result.
  void results() {
    std::vector<const ir::Statement*> made = form_.after;
    if (form_.share) made.insert(made.begin(), form_.product);
    const auto name_of = [&](const ir::Statement* s) {
      return s == form_.product ? written(*s) : s->name;
    };
    add("matrices", name_of(made.front()));
    filling_.scope.groups["held"];
    made.pop_back();
    for (const ir::Statement* s : made)
      if (stays_inside(program(), written(*s), *s, form_.all()))
        filling_.scope.groups["held"].push_back(
            {{{"held", written(*s)}, {"site", name_of(s)}}, {}, {}});
  }

  // The copy keeps the order of dimensions in memory and takes 16 bytes at a time. Its rows are
  // swizzled or padded so that ldmatrix finds the chunks of eight rows in different banks.
  void operand(const ir::Load& load) {
    const std::vector<CopyLoop> loops = copy_loops(load, tile_.rows, tile_.keys);
    Scope& operand = add_operand(load, loops, WarpAttentionTile::kChunk, tile_.threads());
    const ChunkedRow row = chunked_row(loops.back().extent);
    operand.names["swizzled"] = row.is_swizzled ? load.buffer : "";
    operand.names["padding"] = std::to_string(row.pad);
    operand.groups["filled"];
    // The last tile of rows is not full: its copy is filled up with zeros, so that the instructions
    // compute rows that nobody stores.
    if (sizes_.rows % tile_.rows == 0) return;
    for (std::size_t d = 0; d < load.indices.size(); ++d)
      if (*load.indices[d].affine.as_symbol() == form_.row)
        operand.groups["filled"].push_back({{{"filled", loops[d].name}}, {}, {}});
  }
};

}  // namespace

std::optional<OpenNest> open_gpu_attention_warps(const KernelSoFar& kernel,
                                                 std::span<const StatementGroup> groups) {
  auto found = find_attention(kernel, groups);
  if (!found) return std::nullopt;
  const auto attention = std::make_shared<GpuWarpAttention>(kernel, *std::move(found));
  return OpenNest{"gpu_attention_warps", machine_facts(kernel.machine, DType::F32),
                  [attention](const TemplateFile& file) { return attention->fill(file); }};
}

}  // namespace polyte::schedule
