// ScriptBuilder: a Script written in C++, one call a directive; templates and poly record their choices with it.
// The same Script as the text would give: sizes and nests are texts of the script's language.
//
//   ScriptBuilder s("dense_relu/1", program, Provenance::Template);
//   s.param("Mr", "12").split("m", "Mr", Tail::Cut).let("tile", "[m.i] > <n.i>");
//   s.nest("par n.o > k.o > m.o > { tile > acc.init when first k.o; k.i > tile > acc.update; tile > y when last k.o
//   }"); s.stage({.tensor = "acc", .at = at("m.o"), .memory = Memory::Register});
#pragma once

#include <string>
#include <vector>

#include "schedule/script/script.h"

namespace polyte::schedule {

// A loop by name, `m.o` or `acc.update:m.o`.
LoopName loop_name(const std::string& text);
inline LoopName at(const std::string& text) { return loop_name(text); }

// What a stage says besides its tensor; all but `tensor` may be left out.
struct StageRequest {
  std::string tensor;
  std::optional<LoopName> at = std::nullopt;
  std::optional<Memory> memory = std::nullopt;
  std::vector<std::string> names = {}, layout = {};
  std::string pad = "";
  bool fold = false;
  bool when_compile = false;
  std::string copy = "";  // nest text
  Stage::Form form = Stage::Form::Stage;
};

class ScriptBuilder {
 public:
  // Header from the Program (name and digest); exact unless reassoc() is called.
  ScriptBuilder(std::string name, const ir::Program& program, Provenance provenance = Provenance::Person);
  ScriptBuilder& target(std::string cpu, DType dtype);
  ScriptBuilder& threads(int count);  // what `cores` is; else this machine's
  ScriptBuilder& reassoc(std::vector<std::string> loops);
  ScriptBuilder& provenance(Provenance provenance);  // of the directives that follow

  ScriptBuilder& param(const std::string& name, const std::string& size);
  ScriptBuilder& where(const std::string& condition);
  ScriptBuilder& let(const std::string& name, const std::string& text);
  ScriptBuilder& split(const std::string& loop, const std::string& factor, Tail tail = Tail::Guard,
                       const std::string& from = "");
  ScriptBuilder& tile(const std::string& statement, std::vector<std::string> loops,
                      const std::vector<std::string>& factors, Tail tail = Tail::Guard);
  ScriptBuilder& reorder(const std::string& statement, std::vector<std::string> loops);
  ScriptBuilder& order(const std::string& statement, std::vector<std::string> loops);
  ScriptBuilder& fuse(const std::string& outer, const std::string& inner, const std::string& name);
  ScriptBuilder& merge(std::vector<std::string> statements, const std::string& through,
                       std::vector<Merge::Shift> with = {});
  ScriptBuilder& distribute(const std::string& loop);
  // map({{"B", {"t", "2*t+i"}}, {"A", {"t", "2*t+i+1"}}}, {"t", "I"})
  ScriptBuilder& map(const std::vector<std::pair<std::string, std::vector<std::string>>>& items,
                     std::vector<std::string> loops);
  ScriptBuilder& remap(std::vector<std::string> statements, std::vector<std::string> loops,
                       const std::vector<std::string>& values, std::vector<std::string> replaced);
  ScriptBuilder& skew(const std::string& loop, const std::string& by, const std::string& name = "");
  ScriptBuilder& shift(const std::string& loop, const std::string& by, const std::string& name = "");
  ScriptBuilder& reverse(const std::string& loop, const std::string& name = "");
  ScriptBuilder& rename(const std::string& loop, const std::string& name);
  ScriptBuilder& affine(const std::string& statement, std::vector<std::string> loops,
                        const std::vector<std::vector<std::string>>& matrix, std::vector<std::string> names);
  ScriptBuilder& interchange(const std::string& statement, const std::string& outer, const std::string& inner);
  ScriptBuilder& wavefront(const std::string& statement, const std::string& name, const std::string& value,
                           const std::string& replaced);
  ScriptBuilder& unroll(const std::string& loop, const std::string& by = "");
  ScriptBuilder& unroll_and_jam(const std::string& loop, const std::string& by);
  ScriptBuilder& cut(const std::string& loop, const std::string& at);
  ScriptBuilder& peel(const std::string& loop, bool first = true, const std::string& count = "");
  ScriptBuilder& vectorize(const std::string& loop);
  ScriptBuilder& parallel(const std::string& loop);
  ScriptBuilder& compute_inline(const std::string& tensor);
  ScriptBuilder& rfactor(const std::string& tensor, const std::string& loop, const std::string& partial);
  ScriptBuilder& inline_all();
  ScriptBuilder& split_reduction(const std::string& tensor, const std::string& loop, const std::string& parts,
                                 const std::string& partial,
                                 SplitReduction::Form form = SplitReduction::Form::Interleaved);
  ScriptBuilder& reassociate(const std::string& tensor, std::vector<std::string> loops);
  ScriptBuilder& reciprocal(const std::string& statement);
  ScriptBuilder& online(std::vector<std::string> sums, const std::string& from, const std::string& loop);
  ScriptBuilder& atomic(std::vector<std::string> statements);
  ScriptBuilder& compute_at(const std::string& producer, const std::string& loop, const std::string& once_per = "");
  ScriptBuilder& compute_root(const std::string& tensor);
  ScriptBuilder& store_at(const std::string& tensor, const std::string& loop, std::optional<Memory> memory = {});
  ScriptBuilder& reverse_compute_at(const std::string& consumer, const std::string& loop, std::vector<When> when = {});
  ScriptBuilder& place(const std::string& statement, std::vector<When> when);
  ScriptBuilder& nest(const std::string& text);  // InternalError if the text does not parse
  ScriptBuilder& stage(const StageRequest& request);
  ScriptBuilder& fold_storage(const std::string& tensor, const std::string& dimension, const std::string& factor);
  ScriptBuilder& bound_storage(const std::string& tensor, const std::string& dimension, const std::string& extent);
  ScriptBuilder& storage_align(const std::string& tensor, const std::string& dimension, const std::string& factor,
                               const std::string& offset = "");
  ScriptBuilder& hoist_storage(const std::string& tensor, const std::string& loop);
  ScriptBuilder& reuse(const std::string& tensor, const std::string& temporary);
  ScriptBuilder& set_scope(const std::string& tensor, Memory memory);
  ScriptBuilder& transform_layout(const std::string& tensor, std::vector<std::string> names,
                                  std::vector<std::string> layout);
  ScriptBuilder& double_buffer(const std::string& tensor, const std::string& loop);
  ScriptBuilder& compute_with(const std::string& statement, const std::string& with, const std::string& through);
  ScriptBuilder& prefetch(const std::string& tensor, const std::string& loop, const std::string& distance = "1",
                          int level = 1, const std::string& along = "");
  ScriptBuilder& stream(const std::string& tensor);
  ScriptBuilder& tail(const std::string& loop, Tail tail);
  ScriptBuilder& pad(const std::string& tensor, const std::string& dimension, const std::string& multiple);
  ScriptBuilder& tensorize(const std::string& loop, const std::string& intrinsic);
  ScriptBuilder& add(Operation operation);

  const Script& script() const { return script_; }

 private:
  Script script_;
  Provenance provenance_;
};

}  // namespace polyte::schedule
