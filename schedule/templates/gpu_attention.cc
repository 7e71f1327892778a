// Holes and roles of the template for two contractions with the softmax of a row between them. Sizes follow rules of
// thumb: the tallest tile that leaves every multiprocessor a block, the longest tile of keys that fits shared memory,
// and two of them where two blocks still fit a multiprocessor.
#include <algorithm>

#include "ir/relations.h"
#include "schedule/cost/copy_threads.h"
#include "schedule/cost/softmax_product.h"
#include "schedule/templates/nests.h"
#include "support/checked.h"

namespace polyte::schedule {
namespace {

constexpr std::int64_t kFewestKeys = 16;    // that are worth a pass over tiles of them
constexpr std::int64_t kMostColumns = 128;  // whose sums fit the registers of a block
constexpr std::int64_t kVector = 4;         // floats of an access

struct Sizes {
  std::int64_t bm = 0, bn = 0, tm = 0, wn = 0, depth = 1;
  std::int64_t threads() const { return bm / tm * wn; }
};

class GpuAttention {
 public:
  GpuAttention(const KernelSoFar& kernel, SoftmaxProduct form, std::size_t groups)
      : kernel_(kernel), form_(std::move(form)), groups_(groups) {}

  Result<Filling> fill(const TemplateFile& file) {
    if (const auto declined = why_not()) return *declined;
    if (!choose(file)) return Decline{"no tile of keys fits shared memory"};
    filling_.groups = groups_;
    filling_.staged = kernel_.staged;
    filling_.reassociated = {form_.key};
    filling_.values = {
        {"Bm", std::to_string(sizes_.bm)}, {"Bn", std::to_string(sizes_.bn)}, {"Tm", std::to_string(sizes_.tm)}};
    if (sizes_.depth > 1) filling_.values["Depth"] = std::to_string(sizes_.depth);
    names();
    dimensions();
    statements();
    operand(*form_.queries, form_.step, form_.row, 1);
    operand(*form_.keys, form_.step, form_.key, 1);
    operand(*form_.values, form_.key, form_.column, columns() % kVector == 0 ? kVector : 1);
    return std::move(filling_);
  }

 private:
  const KernelSoFar& kernel_;
  SoftmaxProduct form_;
  std::size_t groups_;
  Sizes sizes_;
  Filling filling_;

  const ir::Program& program() const { return kernel_.program; }
  static const std::string& written(const ir::Statement& s) { return s.writes[0].buffer; }
  std::int64_t extent(const ir::Statement& s, const std::string& loop) const {
    const auto facts = facts_of(kernel_.reference, s);
    return std::max<std::int64_t>(1, find(facts, loop)->extent);
  }
  std::int64_t columns() const { return extent(*form_.product, form_.column); }
  std::int64_t steps() const { return extent(*form_.scores, form_.step); }

  std::optional<Decline> why_not() const {
    for (const ir::Statement* s : form_.all())
      if (program().buffer(written(*s)).dtype != DType::F32) return Decline{written(*s) + " is not f32"};
    for (const ir::Load* load : {form_.queries, form_.keys, form_.values})
      if (program().buffer(load->buffer).dtype != DType::F32) return Decline{load->buffer + " is not f32"};
    if (extent(*form_.scores, form_.key) < kFewestKeys) return Decline{"keys are few"};
    if (std::max(columns(), steps()) > kMostColumns) return Decline{"rows of the operands are long"};
    if (!form_.share && form_.after.empty()) return Decline{"the sums themselves are a result"};
    return std::nullopt;
  }

  // --- sizes

  std::int64_t shared_bytes(const Sizes& s) const {
    const std::int64_t tiles = steps() * (s.bn + 1) + s.bn * (columns() + kVector);
    const std::int64_t rows = s.bm + kVector;
    return 4 * (steps() * rows + s.depth * tiles + s.bn * rows + 2 * s.wn * rows + 3 * s.bm);
  }

  bool choose(const TemplateFile& file) {
    std::int64_t others = 1;
    for (const std::string& loop : form_.batch) others *= extent(*form_.scores, loop);
    const std::int64_t rows = extent(*form_.scores, form_.row), keys = extent(*form_.scores, form_.key);
    const Gpu& gpu = *kernel_.machine.gpu;
    const auto allowed = [&](const char* param) { return allowed_values(file, param, kernel_.machine, DType::F32); };
    sizes_.wn = *allowed("Wn").begin();
    for (const std::int64_t bm : allowed("Bm"))
      if (sizes_.bm == 0 || (sizes_.bm < rows && others * ceil_div(rows, bm) >= gpu.multiprocessors)) sizes_.bm = bm;
    for (const std::int64_t tm : allowed("Tm"))
      if (sizes_.tm == 0 || sizes_.bm / tm >= 8) sizes_.tm = tm;
    for (const std::int64_t bn : allowed("Bn")) {
      Sizes longer = sizes_;
      longer.bn = bn;
      if ((sizes_.bn == 0 || sizes_.bn < keys) && shared_bytes(longer) <= gpu.shared_block_bytes) sizes_.bn = bn;
    }
    for (const std::int64_t depth : allowed("Depth")) {
      Sizes deeper = sizes_;
      deeper.depth = depth;
      if (2 * shared_bytes(deeper) <= gpu.shared_multiprocessor_bytes && sizes_.bn < keys) sizes_.depth = depth;
    }
    return sizes_.bn > 0;
  }

  // --- names

  std::string fresh(std::string name) const {
    while (program().find_buffer(name) || program().find_statement(name)) name += "_";
    return name;
  }

  void names() {
    const std::string sum = form_.share ? fresh(written(*form_.product) + "_u") : written(*form_.product);
    filling_.scope.names = {{"row", form_.row},
                            {"key", form_.key},
                            {"step", form_.step},
                            {"column", form_.column},
                            {"scores_init", form_.scores_init->name},
                            {"scores_update", form_.scores->name},
                            {"maximum", written(*form_.maximum)},
                            {"maximum_init", form_.maximum_init->name},
                            {"maximum_update", form_.maximum->name},
                            {"weight", form_.weight->name},
                            {"weights", written(*form_.weight)},
                            {"total", written(*form_.total)},
                            {"total_init", form_.total_init->name},
                            {"total_update", form_.total->name},
                            {"tops", fresh(written(*form_.maximum) + "_p")},
                            {"parts", fresh(written(*form_.total) + "_p")},
                            {"product", written(*form_.product)},
                            {"sum", sum},
                            {"sum_init", form_.share ? sum + ".init" : form_.product_init->name},
                            {"sum_update", form_.share ? sum + ".update" : form_.product->name},
                            {"keys", form_.keys->buffer},
                            {"values", form_.values->buffer}};
    filling_.scope.lists["batch"] = form_.batch;
  }

  // The dimensions of a tensor as `role` and by what they are: rows, keys or columns; the others are its places.
  void dimensions_of(Scope& scope, const std::string& role, const std::string& tensor,
                     const ir::Access& element) const {
    const std::string prefix = role.empty() ? "" : role + "_";
    scope.lists[prefix + "dims"], scope.lists[prefix + "places"];
    for (std::size_t d = 0; d < element.indices.size(); ++d) {
      const std::string name = tensor + std::to_string(d), loop = *element.indices[d].affine.as_symbol();
      scope.lists[prefix + "dims"].push_back(name);
      if (loop == form_.row)
        scope.names[prefix + "rows"] = name;
      else if (loop == form_.key)
        scope.names[prefix + "keys"] = name;
      else if (loop == form_.column)
        scope.names[prefix + "columns"] = name;
      else
        scope.lists[prefix + "places"].push_back(name);
    }
  }

  void dimensions() {
    Scope& scope = filling_.scope;
    dimensions_of(scope, "weights", scope.names.at("weights"), form_.weight->writes[0]);
    dimensions_of(scope, "maximum", scope.names.at("maximum"), form_.maximum->writes[0]);
    dimensions_of(scope, "total", scope.names.at("total"), form_.total->writes[0]);
    dimensions_of(scope, "sum", scope.names.at("sum"), form_.product->writes[0]);
    std::vector<const ir::Statement*> kept = {form_.scores};
    kept.insert(kept.end(), form_.made_of_scores.begin(), form_.made_of_scores.end());
    for (const ir::Statement* s : kept) {
      Scope& each = scope.groups["kept"].emplace_back(Scope{{{"kept", written(*s)}}, {}, {}});
      dimensions_of(each, "", written(*s), s->writes[0]);
    }
  }

  void add(const char* group, const std::string& name) {
    filling_.scope.groups[group].push_back({{{group, name}}, {}, {}});
  }

  void statements() {
    const auto& names = filling_.scope.names;
    const std::string sum_init = names.at("sum_init"), sum_update = names.at("sum_update"),
                      old = names.at("maximum") + ".old", total_scale = names.at("total") + ".scale",
                      sum_scale = names.at("sum") + ".scale";
    for (const char* group : {"share", "made", "after"}) filling_.scope.groups[group];
    if (form_.share) add("share", written(*form_.share));
    std::vector<std::string> scored = {form_.scores_init->name, form_.scores->name};
    for (const ir::Statement* s : form_.made_of_scores) add("made", s->name), scored.push_back(s->name);
    scored.push_back(form_.weight->name);
    std::vector<std::string> after;
    if (form_.share) after.push_back(written(*form_.product));  // the quotient
    for (const ir::Statement* s : form_.after) after.push_back(s->name);
    for (const std::string& s : after) add("after", s);
    const std::vector<std::string> reductions = {form_.maximum->name, form_.total->name, sum_update};
    for (const std::vector<std::string>& names_of : {scored, reductions})
      for (const std::string& s : names_of) add("keyed", s), add("statement", s), add("moved", s);
    for (const std::string& s : {form_.maximum_init->name, form_.total_init->name, sum_init})
      add("statement", s), add("moved", s);
    for (const std::string& s : after) add("statement", s), add("moved", s), add("wide", s);
    for (const std::string& s : {old, total_scale, sum_scale}) add("moved", s);
    for (const std::string& s : scored) add("scored", s), add("tiled", s);
    for (const char* tensor : {"tops", "parts"})
      for (const char* part : {".init", ".update"}) add("tiled", names.at(tensor) + part);
    for (const std::string& s : {sum_init, sum_scale, sum_update}) add("wide", s);
    for (const std::string& s : {form_.maximum_init->name, old, form_.maximum->name, total_scale}) add("rowwise", s);
  }

  // --- copies: `side` is the dimension that threads run along where it is read.
  void operand(const ir::Load& load, const std::string& other, const std::string& side, std::int64_t vector) {
    Scope& operand = filling_.scope.groups["operand"].emplace_back();
    const std::map<std::string, std::int64_t> box = {{form_.row, sizes_.bm}, {form_.key, sizes_.bn}};
    std::vector<CopyLoop> copies;
    std::string inner;
    operand.lists["rest"];
    for (std::size_t d = 0; d < load.indices.size(); ++d) {
      const std::string name = load.buffer + std::to_string(d), loop = *load.indices[d].affine.as_symbol();
      operand.lists["dims"].push_back(name);
      if (loop == side) operand.names["side"] = name;
      if (loop == other) inner = name;
      if (loop != side && loop != other) operand.lists["rest"].push_back(name);
      const auto tile = box.find(loop);
      const bool is_batch = loop != side && loop != other;
      copies.push_back({name, is_batch               ? 1
                              : tile != box.end()    ? tile->second
                              : loop == form_.column ? columns()
                                                     : steps()});
    }
    operand.lists["rest"].push_back(inner);
    const bool is_along = copies.back().name == operand.names["side"];
    const std::string last = copies.back().name;
    if (!is_along) vector = 1;
    if (vector > 1) copies.back() = {last + ".o", copies.back().extent / vector};
    const CopyThreads shared = share_copy(copies, sizes_.threads());
    operand.names["operand"] = load.buffer;
    operand.names["site"] = (side == form_.row ? form_.row : form_.key) + ".o";
    operand.names["padding"] = side == form_.key ? "1" : std::to_string(kVector);
    operand.names["together"] = vector > 1 ? last : "";
    operand.names["vector"] = std::to_string(vector);
    operand.names["cut"] = shared.cut;
    operand.names["size"] = std::to_string(shared.size);
    operand.lists["inner"] = shared.inner;
  }
};

}  // namespace

std::optional<OpenNest> open_gpu_attention(const KernelSoFar& kernel, std::span<const StatementGroup> groups) {
  const auto first = static_cast<std::size_t>(statements_of(groups.front()).front() - kernel.program.statements.data());
  auto form = find_softmax_product(kernel.program, first);
  if (!form) return std::nullopt;
  std::size_t taken = 0, statements = 0;
  for (; taken < groups.size() && statements < form->end - form->begin; ++taken)
    statements += statements_of(groups[taken]).size();
  if (statements != form->end - form->begin) return std::nullopt;
  const auto attention = std::make_shared<GpuAttention>(kernel, *std::move(form), taken);
  return OpenNest{"gpu_attention", machine_facts(kernel.machine, DType::F32),
                  [attention](const TemplateFile& file) { return attention->fill(file); }};
}

}  // namespace polyte::schedule
