#include "schedule/script/directive_table.h"
#include "schedule/script/print_words.h"

namespace polyte::schedule {

namespace {

// (i, j) [..]: names of the dimensions, and the indices of an element over them.
void layout(LineParser& line, std::vector<std::string>& names, std::vector<std::string>& indices) {
  line.expect("(");
  names = line.names(",", "a dimension's name");
  line.expect(")");
  line.expect("[");
  do indices.push_back(line.raw());
  while (line.accept(","));
  line.expect("]");
}

// registers acc at m.o: short for `stage acc at m.o in register`, in a script whose author
// counts registers.
void parse_registers(LineParser& line, std::vector<Operation>& into) {
  Stage stage;
  stage.form = Stage::Form::Registers;
  stage.tensor = line.name("a tensor");
  line.expect("at");
  stage.at = line.loop_name();
  stage.memory = Memory::Register;
  into.push_back(stage);
}

// X: u by SIZE
template <class Directive>
Directive dimension_and_size(LineParser& line, Size Directive::* size) {
  Directive directive;
  directive.tensor = line.name("a buffer");
  line.expect(":");
  directive.dimension = line.name("a dimension");
  line.expect("by");
  directive.*size = line.size();
  return directive;
}

void parse_fold_storage(LineParser& line, std::vector<Operation>& into) {
  into.push_back(dimension_and_size(line, &FoldStorage::factor));
}

void parse_bound_storage(LineParser& line, std::vector<Operation>& into) {
  into.push_back(dimension_and_size(line, &BoundStorage::extent));
}

// storage_align t: u by 16 from 4
void parse_storage_align(LineParser& line, std::vector<Operation>& into) {
  StorageAlign directive = dimension_and_size(line, &StorageAlign::factor);
  if (line.accept("from")) directive.offset = line.size();
  into.push_back(directive);
}

// hoist_storage t at u.o; here and in some others `at` may be left out.
void parse_hoist_storage(LineParser& line, std::vector<Operation>& into) {
  const std::string tensor = line.name("a buffer");
  line.accept("at");
  into.push_back(HoistStorage{tensor, line.loop_name()});
}

// swizzle X by 4 every 2
void parse_swizzle(LineParser& line, std::vector<Operation>& into) {
  Swizzle directive;
  directive.tensor = line.name("a buffer");
  line.expect("by");
  directive.chunk = line.size();
  if (line.accept("every")) directive.every = line.size();
  into.push_back(directive);
}

void parse_set_scope(LineParser& line, std::vector<Operation>& into) {
  const std::string tensor = line.name("a buffer");
  line.accept("in");
  into.push_back(SetScope{tensor, line.memory()});
}

void parse_view(LineParser& line, std::vector<Operation>& into) {
  View directive;
  directive.tensor = line.name("a tensor");
  line.expect("as");
  line.expect("[");
  do directive.shape.push_back(line.size());
  while (line.accept(","));
  line.expect("]");
  into.push_back(directive);
}

void parse_transform_layout(LineParser& line, std::vector<Operation>& into) {
  TransformLayout directive;
  directive.tensor = line.name("a tensor");
  layout(line, directive.names, directive.layout);
  into.push_back(directive);
}

// An empty depth means two, and prints as double_buffer again; pipeline says it in numbers.
void parse_double_buffer(LineParser& line, std::vector<Operation>& into) {
  const std::string tensor = line.name("a tensor");
  line.accept("at");
  into.push_back(DoubleBuffer{tensor, line.loop_name()});
}

// pipeline X, W at L depth 3: a directive for each
void parse_pipeline(LineParser& line, std::vector<Operation>& into) {
  const std::vector<std::string> tensors = line.names(",", "a tensor");
  line.expect("at");
  const LoopName at = line.loop_name();
  line.expect("depth");
  const Size depth = line.size();
  for (const std::string& tensor : tensors) into.push_back(DoubleBuffer{tensor, at, depth});
}

// reuse y for e
void parse_reuse(LineParser& line, std::vector<Operation>& into) {
  const std::string tensor = line.name("a tensor");
  line.expect("for");
  into.push_back(Reuse{tensor, line.name("a temporary")});
}

// prefetch B at k distance 4 along i level 2
void parse_prefetch(LineParser& line, std::vector<Operation>& into) {
  Prefetch directive;
  directive.tensor = line.name("a buffer");
  line.expect("at");
  directive.at = line.loop_name();
  if (line.accept("distance")) directive.distance = line.size();
  if (line.accept("along")) directive.along = line.name("a loop");
  if (line.accept("level")) {
    const std::string level = line.raw();
    if (level.size() != 1 || level < "0" || level > "9")
      line.fail("a cache level is 1, 2 or 3, not " + level);
    directive.level = level[0] - '0';
  }
  into.push_back(directive);
}

void parse_stream(LineParser& line, std::vector<Operation>& into) {
  into.push_back(StoreNonTemporal{line.name("a buffer")});
}

// pad X: u to 16
void parse_pad(LineParser& line, std::vector<Operation>& into) {
  Pad directive;
  directive.tensor = line.name("a buffer");
  line.expect(":");
  directive.dimension = line.name("a dimension");
  line.expect("to");
  directive.multiple = line.size();
  into.push_back(directive);
}

// x[i, k] of S
std::string read_of(const Stage& stage) {
  std::string text = stage.tensor;
  if (!stage.subscripts.empty()) text += "[" + list(stage.subscripts) + "]";
  return stage.reader.empty() ? text : text + " of " + stage.reader;
}

// Words in any order behind the tensor, each once or the last one counts:
//
//   stage S: A[j, k] at L in shared layout (j, k) [k, j] pad 1 copy k > j > A.in
//
// In front of the colon the statement whose reads are meant, behind the tensor the subscripts
// of a read. cache_read, cache_write and pack are the same with a word of their own, which says
// what the primitive has to check (Stage::Form).
template <Stage::Form kForm>
void parse_stage(LineParser& line, std::vector<Operation>& into) {
  Stage stage;
  stage.form = kForm;
  stage.tensor = line.name("a tensor");
  if (line.accept(":")) {
    stage.reader = stage.tensor;
    stage.tensor = line.name("a tensor");
  }
  if (line.accept("[")) {
    do stage.subscripts.push_back(line.raw());
    while (line.accept(","));
    line.expect("]");
  }
  while (!line.at_end()) {
    if (line.accept("at")) {
      stage.at = line.loop_name();
    } else if (line.accept("in")) {
      stage.memory = line.memory();
    } else if (line.accept("layout")) {
      layout(line, stage.names, stage.layout);
    } else if (line.accept("fold")) {
      stage.fold = true;
    } else if (line.accept("pad")) {
      stage.pad = line.size();
    } else if (line.accept("when")) {
      line.expect("compile");
      stage.when_compile = true;
    } else if (line.accept("updates")) {
      stage.updates_only = true;
    } else if (line.accept("copy")) {
      stage.copy = line.node();
    } else {
      line.fail(line.shown() +
                " is not expected in a stage (at, in, layout, fold, pad, when compile, updates, "
                "copy are)");
    }
  }
  if (stage.fold && stage.layout.empty())
    line.fail("fold goes with a layout: fold layout (u, x) [u%3, x]");
  if (stage.updates_only && stage.reads_only())
    line.fail("updates is for what is written, " + read_of(stage) + " is what is read");
  into.push_back(stage);
}

// --- printing

std::string print_stage(const Stage& stage) {
  // By Stage::Form.
  static const char* const kForms[] = {"stage", "cache_read", "cache_write", "pack", "registers"};
  std::string text = std::string(kForms[static_cast<int>(stage.form)]) + " ";
  if (!stage.reader.empty()) text += stage.reader + ": ";
  text += stage.tensor;
  if (!stage.subscripts.empty()) text += "[" + list(stage.subscripts, ", ") + "]";
  if (stage.at) text += " at " + print(*stage.at);
  if (stage.memory && stage.form != Stage::Form::Registers)
    text += " in " + ir::to_string(*stage.memory);
  if (!stage.layout.empty())
    text += " layout (" + list(stage.names, ", ") + ") [" + list(stage.layout, ", ") + "]";
  if (stage.fold) text += " fold";
  if (!stage.pad.text.empty()) text += " pad " + stage.pad.text;
  if (stage.when_compile) text += " when compile";
  if (stage.updates_only) text += " updates";
  if (stage.copy) text += " copy " + print(stage.copy);
  return text;
}

std::string print_fold_storage(const FoldStorage& d) {
  return "fold_storage " + d.tensor + ": " + d.dimension + " by " + d.factor.text;
}

std::string print_bound_storage(const BoundStorage& d) {
  return "bound_storage " + d.tensor + ": " + d.dimension + " by " + d.extent.text;
}

std::string print_storage_align(const StorageAlign& d) {
  const std::string text =
      "storage_align " + d.tensor + ": " + d.dimension + " by " + d.factor.text;
  return d.offset.text.empty() ? text : text + " from " + d.offset.text;
}

std::string print_hoist_storage(const HoistStorage& d) {
  return "hoist_storage " + d.tensor + " at " + print(d.at);
}

std::string print_reuse(const Reuse& d) { return "reuse " + d.tensor + " for " + d.temporary; }

std::string print_swizzle(const Swizzle& d) {
  return "swizzle " + d.tensor + " by " + d.chunk.text +
         (d.every.text.empty() ? "" : " every " + d.every.text);
}

std::string print_set_scope(const SetScope& d) {
  return "set_scope " + d.tensor + " " + ir::to_string(d.memory);
}

std::string print_transform_layout(const TransformLayout& d) {
  return "transform_layout " + d.tensor + " (" + list(d.names, ", ") + ") [" +
         list(d.layout, ", ") + "]";
}

std::string print_view(const View& d) {
  std::string extents;
  for (const Size& extent : d.shape) extents += (extents.empty() ? "" : ", ") + extent.text;
  return "view " + d.tensor + " as [" + extents + "]";
}

std::string print_double_buffer(const DoubleBuffer& d) {
  const std::string where = d.tensor + " at " + print(d.at);
  return d.depth.text.empty() ? "double_buffer " + where
                              : "pipeline " + where + " depth " + d.depth.text;
}

std::string print_prefetch(const Prefetch& d) {
  return "prefetch " + d.tensor + " at " + print(d.at) + " distance " +
         (d.distance.text.empty() ? "1" : d.distance.text) +
         (d.along.empty() ? "" : " along " + d.along) + " level " + std::to_string(d.level);
}

std::string print_store_non_temporal(const StoreNonTemporal& d) { return "stream " + d.tensor; }

std::string print_pad(const Pad& d) {
  return "pad " + d.tensor + ": " + d.dimension + " to " + d.multiple.text;
}

}  // namespace

// Several words may write one type; row_of finds the first row of it, and all rows of a type
// print and apply alike.
const std::vector<DirectiveRow>& storage_directives() {
  static const std::vector<DirectiveRow> kTable = {
      directive<Stage, print_stage, stage>("stage", parse_stage<Stage::Form::Stage>, idle_stage),
      directive<Stage, print_stage, stage>("cache_read", parse_stage<Stage::Form::CacheRead>,
                                           idle_stage),
      directive<Stage, print_stage, stage>("cache_write", parse_stage<Stage::Form::CacheWrite>,
                                           idle_stage),
      directive<Stage, print_stage, stage>("pack", parse_stage<Stage::Form::Pack>, idle_stage),
      directive<Stage, print_stage, stage>("registers", parse_registers, idle_stage),
      directive<FoldStorage, print_fold_storage, fold_storage>("fold_storage", parse_fold_storage),
      directive<BoundStorage, print_bound_storage, bound_storage>("bound_storage",
                                                                  parse_bound_storage),
      directive<StorageAlign, print_storage_align, storage_align>("storage_align",
                                                                  parse_storage_align),
      directive<HoistStorage, print_hoist_storage, hoist_storage>("hoist_storage",
                                                                  parse_hoist_storage),
      directive<Reuse, print_reuse, reuse>("reuse", parse_reuse),
      directive<SetScope, print_set_scope, set_scope>("set_scope", parse_set_scope),
      directive<TransformLayout, print_transform_layout, transform_layout>("transform_layout",
                                                                           parse_transform_layout),
      directive<View, print_view, view>("view", parse_view),
      directive<DoubleBuffer, print_double_buffer, double_buffer>("double_buffer",
                                                                  parse_double_buffer),
      directive<DoubleBuffer, print_double_buffer, double_buffer>("pipeline", parse_pipeline),
      directive<Prefetch, print_prefetch, prefetch>("prefetch", parse_prefetch, idle_prefetch),
      directive<StoreNonTemporal, print_store_non_temporal, stream>("stream", parse_stream),
      directive<Pad, print_pad, pad>("pad", parse_pad),
      directive<Swizzle, print_swizzle, swizzle>("swizzle", parse_swizzle),
  };
  return kTable;
}

}  // namespace polyte::schedule
