#include "schedule/script/script_builder.h"

#include "schedule/script/script_text.h"
#include "support/error.h"

namespace polyte::schedule {

namespace {

NestTree nest_of(const std::string& text) {
  auto tree = parse_nest(text);
  POLYTE_CHECK(static_cast<bool>(tree), "nest '" + text + "': " + (tree ? std::string() : tree.error().reason));
  return *tree;
}

std::vector<Size> sizes_of(const std::vector<std::string>& texts) {
  std::vector<Size> sizes;
  for (const std::string& text : texts) sizes.push_back({text});
  return sizes;
}

}  // namespace

LoopName loop_name(const std::string& text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos) return {"", text};
  return {text.substr(0, colon), text.substr(colon + 1)};
}

ScriptBuilder::ScriptBuilder(std::string name, const ir::Program& program, Provenance provenance)
    : provenance_(provenance) {
  script_.name = std::move(name);
  script_.program = program.name;
  script_.digest = ir::digest(program);
}

ScriptBuilder& ScriptBuilder::target(std::string cpu, DType dtype) {
  script_.target = std::move(cpu);
  script_.dtype = dtype;
  return *this;
}
ScriptBuilder& ScriptBuilder::threads(int count) {
  script_.threads = count;
  return *this;
}
ScriptBuilder& ScriptBuilder::reassoc(std::vector<std::string> loops) {
  script_.contract = Contract::Reassoc;
  script_.reassociable = std::move(loops);
  return *this;
}
ScriptBuilder& ScriptBuilder::provenance(Provenance provenance) {
  provenance_ = provenance;
  return *this;
}
ScriptBuilder& ScriptBuilder::add(Operation operation) {
  script_.directives.push_back({std::move(operation), provenance_, 0});
  return *this;
}
ScriptBuilder& ScriptBuilder::param(const std::string& name, const std::string& size) {
  return add(SetParam{name, {size}});
}
ScriptBuilder& ScriptBuilder::where(const std::string& condition) { return add(Where{{condition}}); }
ScriptBuilder& ScriptBuilder::let(const std::string& name, const std::string& text) { return add(Let{name, text}); }
ScriptBuilder& ScriptBuilder::split(const std::string& loop, const std::string& factor, Tail tail,
                                    const std::string& from) {
  return add(Split{loop_name(loop), {factor}, false, {from}, tail});
}
ScriptBuilder& ScriptBuilder::tile(const std::string& statement, std::vector<std::string> loops,
                                   const std::vector<std::string>& factors, Tail tail) {
  Tile tile = {statement, std::move(loops), {}, tail};
  for (const std::string& factor : factors) tile.factors.push_back({factor});
  return add(std::move(tile));
}
ScriptBuilder& ScriptBuilder::reorder(const std::string& statement, std::vector<std::string> loops) {
  return add(Reorder{statement, std::move(loops)});
}
ScriptBuilder& ScriptBuilder::order(const std::string& statement, std::vector<std::string> loops) {
  return add(Order{statement, std::move(loops)});
}
ScriptBuilder& ScriptBuilder::fuse(const std::string& outer, const std::string& inner, const std::string& name) {
  return add(Fuse{loop_name(outer), loop_name(inner), name});
}
ScriptBuilder& ScriptBuilder::merge(std::vector<std::string> statements, const std::string& through,
                                    std::vector<Merge::Shift> with) {
  return add(Merge{std::move(statements), through, std::move(with)});
}
ScriptBuilder& ScriptBuilder::distribute(const std::string& loop) { return add(Distribute{loop_name(loop)}); }
ScriptBuilder& ScriptBuilder::map(const std::vector<std::pair<std::string, std::vector<std::string>>>& items,
                                  std::vector<std::string> loops) {
  Map map;
  for (const auto& [statement, values] : items) map.items.push_back({statement, sizes_of(values)});
  map.loops = std::move(loops);
  return add(std::move(map));
}
ScriptBuilder& ScriptBuilder::remap(std::vector<std::string> statements, std::vector<std::string> loops,
                                    const std::vector<std::string>& values, std::vector<std::string> replaced) {
  return add(Remap{std::move(statements), std::move(loops), sizes_of(values), std::move(replaced)});
}
ScriptBuilder& ScriptBuilder::skew(const std::string& loop, const std::string& by, const std::string& name) {
  return add(Skew{loop_name(loop), {by}, name});
}
ScriptBuilder& ScriptBuilder::shift(const std::string& loop, const std::string& by, const std::string& name) {
  return add(Shift{loop_name(loop), {by}, name});
}
ScriptBuilder& ScriptBuilder::reverse(const std::string& loop, const std::string& name) {
  return add(Reverse{loop_name(loop), name});
}
ScriptBuilder& ScriptBuilder::rename(const std::string& loop, const std::string& name) {
  return add(Rename{loop_name(loop), name});
}
ScriptBuilder& ScriptBuilder::affine(const std::string& statement, std::vector<std::string> loops,
                                     const std::vector<std::vector<std::string>>& matrix,
                                     std::vector<std::string> names) {
  AffineMap affine = {statement, std::move(loops), {}, std::move(names)};
  for (const std::vector<std::string>& row : matrix) affine.matrix.push_back(sizes_of(row));
  return add(std::move(affine));
}
ScriptBuilder& ScriptBuilder::interchange(const std::string& statement, const std::string& outer,
                                          const std::string& inner) {
  return add(Interchange{statement, outer, inner});
}
ScriptBuilder& ScriptBuilder::wavefront(const std::string& statement, const std::string& name, const std::string& value,
                                        const std::string& replaced) {
  return add(Wavefront{statement, name, {value}, replaced});
}
ScriptBuilder& ScriptBuilder::unroll(const std::string& loop, const std::string& by) {
  return add(Unroll{loop_name(loop), {by}});
}
ScriptBuilder& ScriptBuilder::unroll_and_jam(const std::string& loop, const std::string& by) {
  return add(UnrollAndJam{loop_name(loop), {by}});
}
ScriptBuilder& ScriptBuilder::cut(const std::string& loop, const std::string& at) {
  return add(Cut{loop_name(loop), {at}});
}
ScriptBuilder& ScriptBuilder::peel(const std::string& loop, bool first, const std::string& count) {
  return add(Peel{loop_name(loop), first, {count}});
}
ScriptBuilder& ScriptBuilder::vectorize(const std::string& loop) { return add(Vectorize{loop_name(loop)}); }
ScriptBuilder& ScriptBuilder::parallel(const std::string& loop) { return add(Parallel{loop_name(loop)}); }
ScriptBuilder& ScriptBuilder::compute_inline(const std::string& tensor) { return add(ComputeInline{tensor}); }
ScriptBuilder& ScriptBuilder::rfactor(const std::string& tensor, const std::string& loop, const std::string& partial) {
  return add(Rfactor{tensor, loop_name(loop), partial});
}
ScriptBuilder& ScriptBuilder::inline_all() { return add(InlineAll{}); }
ScriptBuilder& ScriptBuilder::split_reduction(const std::string& tensor, const std::string& loop,
                                              const std::string& parts, const std::string& partial,
                                              SplitReduction::Form form) {
  return add(SplitReduction{tensor, loop, {parts}, partial, form});
}
ScriptBuilder& ScriptBuilder::reassociate(const std::string& tensor, std::vector<std::string> loops) {
  return add(Reassociate{tensor, std::move(loops)});
}
ScriptBuilder& ScriptBuilder::reciprocal(const std::string& statement) { return add(Reciprocal{statement}); }
ScriptBuilder& ScriptBuilder::online(std::vector<std::string> sums, const std::string& from, const std::string& loop) {
  return add(Online{std::move(sums), from, loop_name(loop)});
}
ScriptBuilder& ScriptBuilder::atomic(std::vector<std::string> statements) { return add(Atomic{std::move(statements)}); }
ScriptBuilder& ScriptBuilder::compute_at(const std::string& producer, const std::string& loop,
                                         const std::string& once_per) {
  return add(ComputeAt{producer, loop_name(loop), once_per});
}
ScriptBuilder& ScriptBuilder::compute_root(const std::string& tensor) { return add(ComputeRoot{tensor}); }
ScriptBuilder& ScriptBuilder::store_at(const std::string& tensor, const std::string& loop,
                                       std::optional<Memory> memory) {
  return add(StoreAt{tensor, loop_name(loop), memory});
}
ScriptBuilder& ScriptBuilder::reverse_compute_at(const std::string& consumer, const std::string& loop,
                                                 std::vector<When> when) {
  return add(ReverseComputeAt{consumer, loop_name(loop), std::move(when)});
}
ScriptBuilder& ScriptBuilder::place(const std::string& statement, std::vector<When> when) {
  return add(Place{statement, std::move(when)});
}
ScriptBuilder& ScriptBuilder::nest(const std::string& text) { return add(Nest{"", nest_of(text)}); }
ScriptBuilder& ScriptBuilder::stage(const StageRequest& request) {
  Stage stage;
  stage.form = request.form;
  stage.tensor = request.tensor;
  stage.at = request.at;
  stage.memory = request.memory;
  stage.names = request.names;
  stage.layout = request.layout;
  stage.fold = request.fold;
  stage.pad = {request.pad};
  stage.when_compile = request.when_compile;
  if (!request.copy.empty()) stage.copy = nest_of(request.copy);
  return add(std::move(stage));
}

ScriptBuilder& ScriptBuilder::fold_storage(const std::string& tensor, const std::string& dimension,
                                           const std::string& factor) {
  return add(FoldStorage{tensor, dimension, {factor}});
}
ScriptBuilder& ScriptBuilder::bound_storage(const std::string& tensor, const std::string& dimension,
                                            const std::string& extent) {
  return add(BoundStorage{tensor, dimension, {extent}});
}
ScriptBuilder& ScriptBuilder::storage_align(const std::string& tensor, const std::string& dimension,
                                            const std::string& factor, const std::string& offset) {
  return add(StorageAlign{tensor, dimension, {factor}, {offset}});
}
ScriptBuilder& ScriptBuilder::hoist_storage(const std::string& tensor, const std::string& loop) {
  return add(HoistStorage{tensor, loop_name(loop)});
}
ScriptBuilder& ScriptBuilder::reuse(const std::string& tensor, const std::string& temporary) {
  return add(Reuse{tensor, temporary});
}
ScriptBuilder& ScriptBuilder::set_scope(const std::string& tensor, Memory memory) {
  return add(SetScope{tensor, memory});
}
ScriptBuilder& ScriptBuilder::transform_layout(const std::string& tensor, std::vector<std::string> names,
                                               std::vector<std::string> layout) {
  return add(TransformLayout{tensor, std::move(names), std::move(layout)});
}
ScriptBuilder& ScriptBuilder::double_buffer(const std::string& tensor, const std::string& loop) {
  return add(DoubleBuffer{tensor, loop_name(loop)});
}
ScriptBuilder& ScriptBuilder::compute_with(const std::string& statement, const std::string& with,
                                           const std::string& through) {
  return add(ComputeWith{statement, with, through});
}
ScriptBuilder& ScriptBuilder::prefetch(const std::string& tensor, const std::string& loop, const std::string& distance,
                                       int level, const std::string& along) {
  return add(Prefetch{tensor, loop_name(loop), {distance}, level, along});
}
ScriptBuilder& ScriptBuilder::stream(const std::string& tensor) { return add(StoreNonTemporal{tensor}); }
ScriptBuilder& ScriptBuilder::tail(const std::string& loop, Tail tail) { return add(SetTail{loop_name(loop), tail}); }
ScriptBuilder& ScriptBuilder::pad(const std::string& tensor, const std::string& dimension,
                                  const std::string& multiple) {
  return add(Pad{tensor, dimension, {multiple}});
}
ScriptBuilder& ScriptBuilder::tensorize(const std::string& loop, const std::string& intrinsic) {
  return add(Tensorize{loop_name(loop), intrinsic});
}

}  // namespace polyte::schedule
