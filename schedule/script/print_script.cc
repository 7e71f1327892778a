#include <algorithm>

#include "schedule/script/script_text.h"

namespace polyte::schedule {

namespace {

std::string list(const std::vector<std::string>& items, const std::string& separator) {
  std::string text;
  for (const std::string& item : items) text += (text.empty() ? "" : separator) + item;
  return text;
}

std::string list(const std::vector<Size>& sizes) {
  std::string text;
  for (const Size& size : sizes) text += (text.empty() ? "" : ", ") + size.text;
  return text;
}

std::string selector(const std::string& statement) { return statement.empty() ? "" : statement + ": "; }

std::string spaced(const LoopName& loop) { return selector(loop.statement) + loop.loop; }
std::string parts(const std::vector<std::string>& names) { return names.empty() ? "" : " as " + list(names, ", "); }
std::string named(const std::string& name) { return name.empty() ? "" : " as " + name; }

std::string print(Tail tail) {
  switch (tail) {
    case Tail::Guard:
      return "guard";
    case Tail::Mask:
      return "mask";
    case Tail::Cut:
      return "cut";
    case Tail::Round:
      return "round";
    case Tail::Shift:
      return "shift";
  }
  return "";
}

std::string print_per(const std::string& loop) { return loop.empty() ? "" : " once per " + loop; }

// The part of a split that repeats in `split m by 4, n by 8   tail cut`.
std::string split_item(const Split& split) {
  std::string text = split.loop.loop + (split.into ? " into " : " by ") + split.factor.text;
  if (!split.from.text.empty()) text += " from " + split.from.text;
  return text;
}

std::string param_item(const SetParam& param) {
  return param.name + " = " + param.value.text + (param.domain.empty() ? "" : " in {" + list(param.domain) + "}");
}

std::string tail_text(Tail tail) { return "   tail " + print(tail); }

std::string print_stage(const Stage& stage) {
  static const char* const kForms[] = {"stage", "cache_read", "cache_write", "pack", "registers"};
  std::string text = std::string(kForms[static_cast<int>(stage.form)]) + " " + stage.tensor;
  if (stage.at) text += " at " + print(*stage.at);
  if (stage.memory && stage.form != Stage::Form::Registers) text += " in " + ir::to_string(*stage.memory);
  if (!stage.layout.empty()) text += " layout (" + list(stage.names, ", ") + ") [" + list(stage.layout, ", ") + "]";
  if (stage.fold) text += " fold";
  if (!stage.pad.text.empty()) text += " pad " + stage.pad.text;
  if (stage.when_compile) text += " when compile";
  if (stage.copy) text += " copy " + print(stage.copy);
  return text;
}

std::string print_transaction(const Transaction& transaction) {
  std::string text = "{\n";
  for (const Directive& step : transaction.steps) text += "  " + print(step) + "\n";
  return text + "}";
}

std::string indented(const std::vector<Directive>& directives) {
  std::string text;
  for (const Directive& directive : directives) {
    std::string rest = print(directive);
    while (!rest.empty()) {
      const std::size_t end = std::min(rest.find('\n'), rest.size());
      text += "\n  " + rest.substr(0, end);
      rest.erase(0, end + 1);
    }
  }
  return text;
}

std::string print(SplitReduction::Form form) {
  static const char* const kForms[] = {"interleaved", "blocks", "tree"};
  return kForms[static_cast<int>(form)];
}

struct Printer {
  std::string operator()(const SetParam& d) const { return "param " + param_item(d); }
  std::string operator()(const Where& d) const { return "where " + d.condition.text; }
  std::string operator()(const Let& d) const { return "let " + d.name + " = " + d.text; }
  std::string operator()(const Split& d) const {
    return "split " + selector(d.loop.statement) + split_item(d) + tail_text(d.tail);
  }
  std::string operator()(const Tile& d) const {
    return "tile " + selector(d.statement) + "(" + list(d.loops, ", ") + ") by (" + list(d.factors) + ")" +
           tail_text(d.tail);
  }
  std::string operator()(const Reorder& d) const { return "reorder " + selector(d.statement) + list(d.loops, " > "); }
  std::string operator()(const Order& d) const {
    return "order " + d.statement + ":" + (d.loops.empty() ? "" : " " + list(d.loops, " > "));
  }
  std::string operator()(const Fuse& d) const {
    return "fuse " + print(d.outer) + ", " + print(d.inner) + " as " + d.name;
  }
  std::string operator()(const Merge& d) const {
    std::string text = "merge " + list(d.statements, ", ") + " through " + d.through;
    for (const Merge::Shift& shift : d.with)
      text += (&shift == &d.with.front() ? " with " : ", ") + shift.loop + (shift.by.text[0] == '-' ? "" : "+") +
              shift.by.text;
    return text;
  }
  std::string operator()(const Distribute& d) const { return "distribute " + print(d.loop); }
  std::string operator()(const Map& d) const {
    std::string text;
    for (const Map::Item& item : d.items)
      text += (text.empty() ? "map " : ", ") + item.statement + " (" + list(item.values) + ")";
    return text + " as (" + list(d.loops, ", ") + ")";
  }
  std::string operator()(const Remap& d) const {
    std::string text;
    for (std::size_t i = 0; i < d.loops.size(); ++i)
      text += (text.empty() ? "" : ", ") + d.loops[i] + " = " + d.values[i].text;
    return "map " + selector(list(d.statements, ", ")) + text + " for " + list(d.replaced, ", ");
  }
  std::string operator()(const Skew& d) const { return "skew " + spaced(d.loop) + " by " + d.by.text + named(d.name); }
  std::string operator()(const Shift& d) const {
    return "shift " + spaced(d.loop) + " by " + d.by.text + named(d.name);
  }
  std::string operator()(const Reverse& d) const { return "reverse " + spaced(d.loop) + named(d.name); }
  std::string operator()(const Rename& d) const { return "rename " + spaced(d.loop) + named(d.name); }
  std::string operator()(const AffineMap& d) const {
    std::string rows;
    for (const std::vector<Size>& row : d.matrix) rows += (rows.empty() ? "[" : ", [") + list(row) + "]";
    return "affine " + selector(d.statement) + "(" + list(d.loops, ", ") + ") by [" + rows + "] as (" +
           list(d.names, ", ") + ")";
  }
  std::string operator()(const Interchange& d) const {
    return "interchange " + selector(d.statement) + d.outer + ", " + d.inner;
  }
  std::string operator()(const Wavefront& d) const {
    return "wavefront " + selector(d.statement) + d.name + " = " + d.value.text + " for " + d.replaced;
  }
  std::string operator()(const Unroll& d) const {
    return "unroll " + print(d.loop) + (d.by.text.empty() ? "" : " by " + d.by.text);
  }
  std::string operator()(const UnrollAndJam& d) const { return "unroll_and_jam " + print(d.loop) + " by " + d.by.text; }
  std::string operator()(const Cut& d) const { return "cut " + print(d.loop) + " at " + d.at.text + parts(d.parts); }
  std::string operator()(const Peel& d) const {
    return "peel " + print(d.loop) + (d.first ? " first" : " last") + (d.count.text.empty() ? "" : " " + d.count.text) +
           parts(d.parts);
  }
  std::string operator()(const Vectorize& d) const { return "vectorize " + print(d.loop); }
  std::string operator()(const Parallel& d) const { return "parallel " + print(d.loop); }
  std::string operator()(const ComputeInline& d) const { return "compute_inline " + d.tensor; }
  std::string operator()(const Rfactor& d) const {
    return "rewrite rfactor " + d.tensor + " over " + print(d.loop) + " as " + d.partial;
  }
  std::string operator()(const InlineAll&) const { return "compute_inline all"; }
  std::string operator()(const SplitReduction& d) const {
    return "split_reduction " + d.tensor + ": " + d.loop + " by " + d.parts.text + " as " + d.partial + " " +
           print(d.form);
  }
  std::string operator()(const Reassociate& d) const {
    return "reassociate " + d.tensor + " over " + list(d.loops, ", ");
  }
  std::string operator()(const Reciprocal& d) const { return "reciprocal " + d.statement; }
  std::string operator()(const Online& d) const {
    return "rewrite online " + list(d.sums, ", ") + " from " + d.from + " over " + print(d.loop);
  }
  std::string operator()(const Atomic& d) const { return "atomic " + list(d.statements, ", "); }
  std::string operator()(const Specialize& d) const {
    return "specialize " + d.condition.text + indented(d.then) +
           (d.otherwise.empty() ? "" : "\nelse" + indented(d.otherwise));
  }
  std::string operator()(const ComputeAt& d) const {
    return "compute_at " + d.producer + " at " + print(d.at) + print_per(d.per);
  }
  std::string operator()(const ComputeRoot& d) const { return "compute_root " + d.tensor; }
  std::string operator()(const StoreAt& d) const {
    std::string text = "store_at " + d.tensor + " at " + print(d.at);
    if (d.memory) text += " in " + ir::to_string(*d.memory);
    return text;
  }
  std::string operator()(const ReverseComputeAt& d) const {
    return "reverse_compute_at " + d.consumer + " at " + print(d.at) + print(d.when);
  }
  std::string operator()(const Place& d) const { return "place " + d.statement + print(d.when); }
  std::string operator()(const Nest& d) const { return "nest " + selector(d.name) + print(d.tree); }
  std::string operator()(const Stage& d) const { return print_stage(d); }
  std::string operator()(const FoldStorage& d) const {
    return "fold_storage " + d.tensor + ": " + d.dimension + " by " + d.factor.text;
  }
  std::string operator()(const BoundStorage& d) const {
    return "bound_storage " + d.tensor + ": " + d.dimension + " by " + d.extent.text;
  }
  std::string operator()(const StorageAlign& d) const {
    const std::string text = "storage_align " + d.tensor + ": " + d.dimension + " by " + d.factor.text;
    return d.offset.text.empty() ? text : text + " from " + d.offset.text;
  }
  std::string operator()(const HoistStorage& d) const { return "hoist_storage " + d.tensor + " at " + print(d.at); }
  std::string operator()(const Reuse& d) const { return "reuse " + d.tensor + " for " + d.temporary; }
  std::string operator()(const SetScope& d) const { return "set_scope " + d.tensor + " " + ir::to_string(d.memory); }
  std::string operator()(const TransformLayout& d) const {
    return "transform_layout " + d.tensor + " (" + list(d.names, ", ") + ") [" + list(d.layout, ", ") + "]";
  }
  std::string operator()(const DoubleBuffer& d) const { return "double_buffer " + d.tensor + " at " + print(d.at); }
  std::string operator()(const ComputeWith& d) const {
    return "compute_with " + d.statement + ", " + d.with + " at " + d.through;
  }
  std::string operator()(const Prefetch& d) const {
    return "prefetch " + d.tensor + " at " + print(d.at) + " distance " +
           (d.distance.text.empty() ? "1" : d.distance.text) + (d.along.empty() ? "" : " along " + d.along) +
           " level " + std::to_string(d.level);
  }
  std::string operator()(const StoreNonTemporal& d) const { return "stream " + d.tensor; }
  std::string operator()(const SetTail& d) const { return "tail " + print(d.loop) + " " + print(d.tail); }
  std::string operator()(const Pad& d) const {
    return "pad " + d.tensor + ": " + d.dimension + " to " + d.multiple.text;
  }
  std::string operator()(const Tensorize& d) const { return "tensorize " + print(d.loop) + " with " + d.intrinsic; }
  std::string operator()(const Transaction& d) const { return print_transaction(d); }
};

std::string print(Provenance provenance) {
  switch (provenance) {
    case Provenance::Person:
      return "";
    case Provenance::Template:
      return "   #: template";
    case Provenance::Isl:
      return "   #: isl";
    case Provenance::TileModel:
      return "   #: tile-model";
  }
  return "";
}

std::string print_contract(const Script& script) {
  switch (script.contract) {
    case Contract::Exact:
      return "exact";
    case Contract::Reassoc:
      return "reassoc " + list(script.reassociable, ", ");
    case Contract::Unsafe:
      return "unsafe";
  }
  return "";
}

std::string print_header(const Script& script) {
  std::string text = "schedule " + script.name + " for " + script.program;
  if (!script.digest.empty()) text += "@" + script.digest;
  if (!script.target.empty()) text += "  on " + script.target;
  if (script.threads > 0)
    text += " with " + std::to_string(script.threads) + (script.threads == 1 ? " thread" : " threads");
  return text + "  " + std::string(to_string(script.dtype)) + "  " + print_contract(script) + "\n";
}

// Directives that were written on one line stay on it: params, and splits of one selector and tail.
bool continues(const Directive& a, const Directive& b) {
  if (a.line == 0 || a.line != b.line || a.file != b.file || a.provenance != b.provenance) return false;
  if (std::holds_alternative<SetParam>(a.operation)) return std::holds_alternative<SetParam>(b.operation);
  const Split* x = std::get_if<Split>(&a.operation);
  const Split* y = std::get_if<Split>(&b.operation);
  return x && y && x->loop.statement == y->loop.statement && x->tail == y->tail;
}

std::string print_group(const std::vector<Directive>& directives, std::size_t begin, std::size_t end) {
  if (end == begin + 1) return print(directives[begin]);
  std::string text;
  for (std::size_t i = begin; i < end; ++i) {
    text += text.empty() ? "" : ", ";
    if (const SetParam* param = std::get_if<SetParam>(&directives[i].operation))
      text += param_item(*param);
    else
      text += split_item(std::get<Split>(directives[i].operation));
  }
  const Directive& last = directives[end - 1];
  if (const Split* split = std::get_if<Split>(&last.operation))
    return "split " + selector(split->loop.statement) + text + tail_text(split->tail) + print(last.provenance);
  return "param " + text + print(last.provenance);
}

}  // namespace

std::string print(const LoopName& name) {
  return name.statement.empty() ? name.loop : name.statement + ":" + name.loop;
}

std::string print(const Directive& directive) {
  return std::visit(Printer{}, directive.operation) + print(directive.provenance);
}

std::string print(const Script& script) {
  std::string text = print_header(script);
  const std::vector<Directive>& directives = script.directives;
  for (std::size_t begin = 0; begin < directives.size();) {
    std::size_t end = begin + 1;
    while (end < directives.size() && continues(directives[begin], directives[end])) ++end;
    text += print_group(directives, begin, end) + "\n";
    begin = end;
  }
  return text;
}

}  // namespace polyte::schedule
