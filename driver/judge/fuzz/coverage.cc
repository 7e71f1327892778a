#include "driver/judge/fuzz/coverage.h"

#include <algorithm>
#include <array>

namespace polyte::fuzz {
namespace {

using schedule::AnyOperation;
using schedule::Operation;

// As the alternatives of Operation.
constexpr std::array kDirectives = {"param",
                                    "where",
                                    "let",
                                    "split",
                                    "tile",
                                    "reorder",
                                    "order",
                                    "fuse",
                                    "merge",
                                    "distribute",
                                    "map",
                                    "map in place",
                                    "skew",
                                    "shift",
                                    "reverse",
                                    "rename",
                                    "affine",
                                    "interchange",
                                    "wavefront",
                                    "unroll_and_jam",
                                    "cut",
                                    "peel",
                                    "unroll",
                                    "vectorize",
                                    "parallel",
                                    "bind",
                                    "compute_inline",
                                    "inline all",
                                    "rfactor",
                                    "split_reduction",
                                    "reassociate",
                                    "online",
                                    "atomic",
                                    "specialize",
                                    "compute_at",
                                    "compute_root",
                                    "store_at",
                                    "reverse_compute_at",
                                    "place",
                                    "nest",
                                    "stage",
                                    "fold_storage",
                                    "bound_storage",
                                    "storage_align",
                                    "hoist_storage",
                                    "reuse",
                                    "set_scope",
                                    "transform_layout",
                                    "double_buffer",
                                    "compute_with",
                                    "prefetch",
                                    "stream",
                                    "pad",
                                    "tail",
                                    "tensorize",
                                    "transaction",
                                    "reciprocal",
                                    "swizzle",
                                    "defer_division",
                                    "view",
                                    "precompute",
                                    "gpu_tile"};
static_assert(kDirectives.size() == std::variant_size_v<AnyOperation>, "each directive has a row");

// What is said beside the name: rows of their own.
constexpr std::array kForms = {
    "cache_read",    "cache_write",     "pack",         "stage copy",
    "stage fold",    "stage pad",       "stage layout", "stage when compile",
    "stage updates", "stage of a read", "split into",   "split from",
    "once per",      "merge with",      "cut as",       "selector",
    "tail cut",      "tail mask",       "tail round",   "tail shift",
    "block",         "thread",          "warp",         "lane",
    "shared"};

constexpr std::array kFeatures = {
    // types and roles
    "f64", "f32", "f16", "bf16", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "bool",
    "const", "inout", "temp",
    // combiners
    "sum", "product", "min", "max", "and", "or", "argmin", "argmax", "shared position",
    // generations
    "several generations", "generation per iteration", "two combiners", "two statements",
    "named initial value", "kept over a region",
    // reads
    "else", "if on a read", "one element twice", "own element in value", "own neighbour in value",
    "own tensor in when", "gather", "// or % read",
    // writes
    "scatter", "accumulating scatter", "// or % written", "shifted write", "flat subscript",
    // domains and order
    "negative range", "triangle", "if", "when on an assignment", "when on an update", "region",
    "several regions", "nested regions", "downward region", "context", "extent 0", "extent 1",
    // scripts
    "reassoc", "reassoc of floats", "softmax", "defined quotient", "unit before", "unit behind",
    "product in a region", "include", "hole", "all loops renamed", "open sizes"};

// Equal affine subscripts. An indirect one is never taken for the same: its value is not known.
bool same_place(const std::vector<ir::Index>& a, const std::vector<ir::Index>& b) {
  return std::ranges::equal(a, b, [](const ir::Index& x, const ir::Index& y) {
    return !x.indirect && !y.indirect && x.affine == y.affine;
  });
}

// What one Program and its script have of the table, found in what they parse to where it shows
// there, else in the text.
class Finder {
 public:
  explicit Finder(const Case& c) : case_(c), program_(*bound_program(c.program)) {}

  std::set<std::string> run() {
    for (const ir::Buffer& buffer : program_.buffers) look(buffer);
    for (const ir::Statement& s : program_.statements) look(s);
    for (const ir::Buffer& buffer : program_.buffers) look_at_generations(buffer.name);
    look_at_order(program_.order, 0);
    look_at_text();
    look_at_script();
    return std::move(found_);
  }

 private:
  const Case& case_;
  const ir::Program program_;
  std::set<std::string> found_;
  int regions_ = 0;

  void add(const std::string& feature, bool holds = true) {
    if (holds) found_.insert(feature);
  }

  void look(const ir::Buffer& buffer) {
    add(std::string(polyte::to_string(buffer.dtype)));
    add(ir::to_string(buffer.role), buffer.role == ir::Role::Const ||
                                        buffer.role == ir::Role::InOut ||
                                        buffer.role == ir::Role::Temp);
    for (const std::int64_t extent : ir::constant_shape(buffer))
      add("extent 0", extent == 0), add("extent 1", extent == 1);
  }

  void look(const ir::Statement& s) {
    const bool updates = s.combiner != ir::Combiner::None;
    add(ir::to_string(s.combiner), updates);
    add(updates ? "when on an update" : "when on an assignment", s.guard != nullptr);
    for (const ir::Access& write : s.writes) {
      for (const ir::Index& index : write.indices) {
        add("scatter", index.indirect != nullptr);
        add("accumulating scatter", index.indirect && updates);
        add("// or % written", index.affine.has_division());
        add("shifted write", !index.affine.as_symbol() && !index.affine.is_constant());
        add("flat subscript", write.indices.size() == 1 && index.affine.terms().size() > 1);
      }
    }
    if (s.writes.size() == 2)
      if (const auto* place = std::get_if<ir::IndexValue>(&s.values[1]->op))
        add("shared position", place->value.has_division());
    std::vector<const ir::Load*> loads;
    for (const ir::Expr& value : s.values)
      for (const ir::Load* load : ir::loads_of(value)) loads.push_back(load), look_at_own(s, *load);
    for (const ir::Load* load : loads) {
      for (const ir::Index& index : load->indices)
        add("gather", index.indirect != nullptr), add("// or % read", index.affine.has_division());
      // Two reads of one element under different guards, one of which may be no guard.
      for (const ir::Load* other : loads)
        add("one element twice", load->buffer == other->buffer &&
                                     same_place(load->indices, other->indices) &&
                                     load->guard != other->guard);
    }
    if (s.guard)
      for (const ir::Load* load : ir::loads_of(s.guard))
        add("own tensor in when", updates && load->buffer == s.writes.front().buffer);
  }

  // A recurrence: the element that is updated, or another one of its tensor, is read by the
  // update.
  void look_at_own(const ir::Statement& s, const ir::Load& load) {
    const ir::Access& write = s.writes.front();
    if (s.combiner == ir::Combiner::None || load.buffer != write.buffer) return;
    add(same_place(load.indices, write.indices) ? "own element in value"
                                                : "own neighbour in value");
  }

  // In the order of the Program. `begun` counts plain assignments, each of which begins a
  // generation; an update belongs to the latest one.
  void look_at_generations(const std::string& buffer) {
    int begun = 0;
    std::set<ir::Combiner> combiners;
    for (const ir::Statement& s : program_.statements) {
      if (s.writes.front().buffer != buffer) continue;
      if (s.combiner == ir::Combiner::None) {
        ++begun;
        // An assignment within a region that follows updates: a new generation in each
        // iteration.
        add("generation per iteration", s.region_depth > 0 && !combiners.empty());
        continue;
      }
      add("several generations", begun > 1);
      add("named initial value", begun > 0 && s.name != buffer + ".update");
      // Updates inside of a region to what was begun outside of it, or before the Program.
      add("kept over a region", s.region_depth > 0 && begun <= 1);
      add("two statements", !combiners.insert(s.combiner).second);
    }
    add("two combiners", combiners.size() > 1);
  }

  // Regions, their nesting and their direction; statements have been looked at one by one.
  void look_at_order(const std::vector<ir::Item>& items, int depth) {
    for (const ir::Item& item : items) {
      const auto* region = std::get_if<ir::Region>(&item);
      if (!region) continue;
      add("region"), add("nested regions", depth > 0), add("downward region", region->step < 0);
      if (depth == 0) add("several regions", ++regions_ > 1);
      look_at_order(region->body, depth + 1);
    }
  }

  // Features that are gone when the text is parsed, or are easier to see there; the words are those
  // that the generators write.
  void look_at_text() {
    const std::string& text = case_.program.text;
    const auto holds = [&](const char* part) { return text.find(part) != std::string::npos; };
    add("else", holds(" else ")), add("negative range", holds(" in -"));
    add("if", holds("  if ") || holds(" if j <") || holds(" and ")),
        add("context", holds(") where "));
    add("triangle", holds("..i + 1") || holds("..i") || holds("in i..") || holds("in t..") ||
                        holds("in k + 1.."));
    add("softmax", holds("exp(x[i, j] - top[i])")),
        add("defined quotient", holds("sum[j] p[i, j] * v") || holds("sum[j] f64(p[i, j])"));
    add("unit before", holds("[1, ")), add("unit behind", holds(", 1]"));
    add("product in a region",
        holds("loop m in 0..") || (holds("loop k in 0..") && holds(" += p[")));
    for (std::size_t at = text.find("] if "); at != std::string::npos;
         at = text.find("] if ", at + 1))
      add("if on a read", text.find(" else ", at) < text.find('\n', at));
  }

  void look_at_script() {
    const bool relaxed = case_.script.contract != schedule::Contract::Exact;
    add("reassoc", relaxed);
    add("reassoc of floats", relaxed && is_float(program_.buffers.front().dtype));
    add("include", case_.includes), add("hole", case_.has_hole), add("open sizes", case_.open),
        add("all loops renamed", case_.renames);
  }
};

void add_tail(schedule::Tail tail, std::set<std::string>& names) {
  if (tail == schedule::Tail::Cut) names.insert("tail cut");
  if (tail == schedule::Tail::Mask) names.insert("tail mask");
  if (tail == schedule::Tail::Round) names.insert("tail round");
  if (tail == schedule::Tail::Shift) names.insert("tail shift");
}

void add_stage(const schedule::Stage& stage, std::set<std::string>& names) {
  using Form = schedule::Stage::Form;
  if (stage.form == Form::CacheRead) names.insert("cache_read");
  if (stage.form == Form::CacheWrite) names.insert("cache_write");
  if (stage.form == Form::Pack) names.insert("pack");
  if (stage.copy) names.insert("stage copy");
  if (stage.fold) names.insert("stage fold");
  if (!stage.pad.text.empty()) names.insert("stage pad");
  if (!stage.layout.empty()) names.insert("stage layout");
  if (stage.when_compile) names.insert("stage when compile");
  if (stage.updates_only) names.insert("stage updates");
  if (stage.reads_only()) names.insert("stage of a read");
  if (stage.memory == schedule::Memory::Shared) names.insert("shared");
}

// The kinds of a device that a nest gives its loops.
void add_kinds(const schedule::NestTree& tree, std::set<std::string>& names) {
  if (const auto* loop = std::get_if<schedule::NestLoop>(&tree->op)) {
    if (ir::is_of_device(loop->kind)) names.insert(to_string(loop->kind));
    add_kinds(loop->body, names);
  } else if (const auto* sequence = std::get_if<schedule::NestSequence>(&tree->op)) {
    for (const schedule::NestTree& child : sequence->children) add_kinds(child, names);
  }
}

// Forms that are options of a directive rather than its name.
void add_forms(const Operation& operation, std::set<std::string>& names) {
  const auto selects = [&](const schedule::LoopName& name) {
    if (name.statement == "all" || name.loop.find('*') != std::string::npos ||
        name.loop.ends_with("most"))
      names.insert("selector");
  };
  if (const auto* split = std::get_if<schedule::Split>(&operation)) {
    add_tail(split->tail, names);
    if (split->into) names.insert("split into");
    if (!split->from.text.empty()) names.insert("split from");
  } else if (const auto* tile = std::get_if<schedule::Tile>(&operation)) {
    add_tail(tile->tail, names);
  } else if (const auto* stage = std::get_if<schedule::Stage>(&operation)) {
    add_stage(*stage, names);
  } else if (const auto* nest = std::get_if<schedule::Nest>(&operation)) {
    add_kinds(nest->tree, names);
  } else if (const auto* at = std::get_if<schedule::ComputeAt>(&operation)) {
    if (!at->per.empty()) names.insert("once per");
  } else if (const auto* cut = std::get_if<schedule::Cut>(&operation)) {
    if (!cut->parts.empty()) names.insert("cut as");
  } else if (const auto* peel = std::get_if<schedule::Peel>(&operation)) {
    if (!peel->parts.empty()) names.insert("cut as");
  } else if (const auto* merge = std::get_if<schedule::Merge>(&operation)) {
    if (!merge->with.empty()) names.insert("merge with");
  } else if (const auto* vectorize = std::get_if<schedule::Vectorize>(&operation)) {
    selects(vectorize->loop);
  } else if (const auto* bind = std::get_if<schedule::Bind>(&operation)) {
    names.insert(to_string(bind->kind));
  } else if (const auto* scope = std::get_if<schedule::SetScope>(&operation)) {
    if (scope->memory == schedule::Memory::Shared) names.insert("shared");
  } else if (const auto* parallel = std::get_if<schedule::Parallel>(&operation)) {
    selects(parallel->loop);
  }
}

// Accepted includes Failed: the proof said yes, and then an execution differed.
void count(CoverageRow& row, const Verdict& verdict) {
  const bool is_accepted =
      verdict.outcome == Outcome::Accepted || verdict.outcome == Outcome::Failed;
  row.drawn += 1;
  row.accepted += is_accepted;
  row.refused += !is_accepted && verdict.outcome != Outcome::Skipped;
  row.executed += is_accepted || verdict.executed;
}

void append(std::map<std::string, CoverageRow>& rows,
            const std::map<std::string, CoverageRow>& more) {
  for (const auto& [name, row] : more) {
    CoverageRow& into = rows[name];
    into.drawn += row.drawn, into.accepted += row.accepted, into.refused += row.refused,
        into.executed += row.executed;
  }
}

CoverageRow row_of(const std::map<std::string, CoverageRow>& rows, const std::string& name) {
  const auto at = rows.find(name);
  return at == rows.end() ? CoverageRow{} : at->second;
}

std::string padded(const std::string& text, std::size_t width, bool right = false) {
  const std::string space(text.size() < width ? width - text.size() : 0, ' ');
  return right ? space + text : text + space;
}

//   feature                        drawn  accepted   refused  executed
//   scatter                           41        35         4        38
std::string table_of(const std::string& title, const std::vector<std::string>& names,
                     const std::map<std::string, CoverageRow>& rows) {
  std::string text = padded(title, 26);
  for (const char* column : {"drawn", "accepted", "refused", "executed"})
    text += padded(column, 10, true);
  for (const std::string& name : names) {
    const CoverageRow row = row_of(rows, name);
    text += "\n" + padded(name, 26);
    for (const std::uint64_t number : {row.drawn, row.accepted, row.refused, row.executed})
      text += padded(std::to_string(number), 10, true);
  }
  return text + "\n";
}

std::string directive_name(const Operation& operation) { return kDirectives[operation.index()]; }

std::set<std::string> features_of(const Case& c) { return Finder(c).run(); }

// Names of directive_names(); of a stage also its form and what it says ("stage copy").
std::set<std::string> directives_of(const schedule::Script& script) {
  std::set<std::string> names;
  for (const schedule::Directive& d : script.directives)
    names.insert(directive_name(d.operation)), add_forms(d.operation, names);
  return names;
}

}  // namespace

const std::vector<std::string>& feature_names() {
  static const std::vector<std::string> names(kFeatures.begin(), kFeatures.end());
  return names;
}

const std::vector<std::string>& directive_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all(kDirectives.begin(), kDirectives.end());
    all.insert(all.end(), kForms.begin(), kForms.end());
    return all;
  }();
  return names;
}

// Unordered pairs, with a directive beside itself.
std::uint64_t possible_pairs() { return kDirectives.size() * (kDirectives.size() + 1) / 2; }

void add(Coverage& coverage, const Case& c, const Verdict& verdict) {
  for (const std::string& feature : features_of(c)) count(coverage.features[feature], verdict);
  for (const std::string& name : directives_of(c.script)) count(coverage.directives[name], verdict);
  // Pairs count only where all of the script was accepted: a refused one stops at some
  // directive.
  if (verdict.outcome != Outcome::Accepted) return;
  const auto& all = c.script.directives;
  for (std::size_t i = 0; i < all.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) {
      std::string a = directive_name(all[j].operation), b = directive_name(all[i].operation);
      if (b < a) std::swap(a, b);
      coverage.pairs.emplace(a, b);
    }
}

void append(Coverage& coverage, const Coverage& more) {
  append(coverage.features, more.features);
  append(coverage.directives, more.directives);
  coverage.pairs.insert(more.pairs.begin(), more.pairs.end());
}

// Some rows cannot be reached by design on the other kind of target.
std::vector<std::string> empty_rows(const Coverage& coverage, bool gpu) {
  static const std::set<std::string> of_gpu = {"bind",   "gpu_tile", "swizzle", "block",
                                               "thread", "warp",     "lane",    "shared"};
  static const std::set<std::string> of_cpu = {"parallel"};
  std::vector<std::string> empty;
  const auto look = [&](const std::string& what, const std::vector<std::string>& names,
                        const std::map<std::string, CoverageRow>& rows) {
    for (const std::string& name : names) {
      if ((gpu ? of_cpu : of_gpu).contains(name)) continue;
      const CoverageRow row = row_of(rows, name);
      if (row.drawn == 0 || row.accepted == 0 || row.executed == 0)
        empty.push_back(what + " " + name + ": never " +
                        (row.drawn == 0      ? "drawn"
                         : row.accepted == 0 ? "accepted"
                                             : "executed"));
    }
  };
  look("feature", feature_names(), coverage.features);
  look("directive", directive_names(), coverage.directives);
  return empty;
}

std::string to_table(const Coverage& coverage) {
  return table_of("feature", feature_names(), coverage.features) + "\n" +
         table_of("directive", directive_names(), coverage.directives) + "\npairs of directives " +
         std::to_string(coverage.pairs.size()) + " of " + std::to_string(possible_pairs()) + "\n";
}

}  // namespace polyte::fuzz
