#include "schedule/script/holes.h"

#include <algorithm>

#include "schedule/script/explain.h"
#include "schedule/script/print_words.h"
#include "schedule/script/script_text.h"

namespace polyte::schedule {
namespace {

void collect(Size& size, std::vector<Size*>& into) {
  if (size.text == kSizeHole) into.push_back(&size);
}

void collect(std::vector<Directive>& directives, std::vector<Size*>& into) {
  for (Directive& each : directives) {
    const auto inner = size_holes(each);
    into.insert(into.end(), inner.begin(), inner.end());
  }
}

// size_holes gives pointers to fill, hence the copy.
bool is_hole(const Directive& directive) {
  if (const Nest* nest = std::get_if<Nest>(&directive.operation)) return has_holes(nest->tree);
  if (const Let* let = std::get_if<Let>(&directive.operation)) return let->text == kRestHole;
  Directive copy = directive;
  return !size_holes(copy).empty();
}

// Every directive with a hole; nests within braces too.
void collect_holes(const std::vector<Directive>& directives, std::vector<const Directive*>& into) {
  for (const Directive& each : directives) {
    if (const Transaction* together = std::get_if<Transaction>(&each.operation)) {
      collect_holes(together->steps, into);
    } else if (const Specialize* branches = std::get_if<Specialize>(&each.operation)) {
      collect_holes(branches->then, into);
      collect_holes(branches->otherwise, into);
    } else if (is_hole(each)) {
      into.push_back(&each);
    }
  }
}

// Holes with a name, of param and let, can be filled on the command line; the others only by a
// completion.
std::string what_lacks(const Directive& directive) {
  if (const SetParam* param = std::get_if<SetParam>(&directive.operation))
    return param->name + " has no value yet: give it one with --param " + param->name + "=VALUE" +
           (param->domain.empty() ? "" : ", one of {" + list(param->domain) + "}") +
           ", or let polyte complete fill it";
  if (const Let* let = std::get_if<Let>(&directive.operation))
    return let->name + " has no value yet: give it one with --param " + let->name +
           "=PATH, or let polyte complete fill it";
  const bool is_nest = std::holds_alternative<Nest>(directive.operation);
  return std::string(is_nest ? "the rest is open" : "a size is open") +
         ": polyte complete fills it";
}

// A tree in which the names of fragments (`let`) are replaced by the fragments.
class Expansion {
 public:
  explicit Expansion(const std::map<std::string, std::string>& fragments) : fragments_(fragments) {}

  NestTree run(const NestTree& tree) const {
    if (const NestSequence* sequence = std::get_if<NestSequence>(&tree->op)) {
      std::vector<NestTree> children;
      for (const NestTree& child : sequence->children) children.push_back(run(child));
      return nest_sequence(std::move(children));
    }
    const NestLoop* loop = std::get_if<NestLoop>(&tree->op);
    if (!loop) return tree;
    // As NestBuilder does at replay (primitives/nest.cc): only a plain name can be a
    // fragment's, not par m or [m].
    const auto fragment = fragments_.find(loop->name);
    if (fragment == fragments_.end() || loop->kind != LoopKind::Serial)
      return nest_path({{loop->name, loop->kind}}, run(loop->body));
    if (fragment->second == kRestHole) return nest_path({{kRestHole}}, run(loop->body));
    const auto path = parse_path(fragment->second);
    return path ? nest_path(*path, run(loop->body)) : tree;
  }

 private:
  const std::map<std::string, std::string>& fragments_;
};

}  // namespace

bool is_rest(const NestTree& tree) {
  const NestLeaf* leaf = std::get_if<NestLeaf>(&tree->op);
  return leaf && leaf->statement == kRestHole;
}

bool has_holes(const NestTree& tree) {
  if (const NestLoop* loop = std::get_if<NestLoop>(&tree->op))
    return loop->name == kRestHole || has_holes(loop->body);
  if (const NestSequence* sequence = std::get_if<NestSequence>(&tree->op))
    return std::ranges::any_of(sequence->children,
                               [](const NestTree& child) { return has_holes(child); });
  return is_rest(tree);
}

std::vector<Size*> size_holes(Directive& directive) {
  std::vector<Size*> holes;
  if (Split* split = std::get_if<Split>(&directive.operation)) collect(split->factor, holes);
  if (Tile* tile = std::get_if<Tile>(&directive.operation))
    for (Size& size : tile->factors) collect(size, holes);
  if (DeviceTile* tile = std::get_if<DeviceTile>(&directive.operation))
    for (Size& size : tile->factors) collect(size, holes);
  if (Unroll* unroll = std::get_if<Unroll>(&directive.operation)) collect(unroll->by, holes);
  if (UnrollAndJam* jam = std::get_if<UnrollAndJam>(&directive.operation)) collect(jam->by, holes);
  if (SplitReduction* parts = std::get_if<SplitReduction>(&directive.operation))
    collect(parts->parts, holes);
  if (SetParam* param = std::get_if<SetParam>(&directive.operation)) collect(param->value, holes);
  if (Transaction* together = std::get_if<Transaction>(&directive.operation))
    collect(together->steps, holes);
  if (Specialize* branches = std::get_if<Specialize>(&directive.operation)) {
    collect(branches->then, holes);
    collect(branches->otherwise, holes);
  }
  return holes;
}

bool has_holes(const Script& script) {
  std::vector<const Directive*> holes;
  collect_holes(script.directives, holes);
  return !holes.empty();
}

std::optional<Refusal> refuse_holes(const Script& script) {
  std::vector<const Directive*> holes;
  collect_holes(script.directives, holes);
  if (holes.empty()) return std::nullopt;
  Refusal refusal(RefusalKind::Malformed, what_lacks(*holes.front()));
  for (std::size_t i = 1; i < holes.size(); ++i) {
    const std::string place = holes[i]->file.empty() ? "" : holes[i]->file + ":";
    refusal.details.emplace_back("also open",
                                 place + std::to_string(holes[i]->line) + ": " + print(*holes[i]));
  }
  return located(refusal, *holes.front());
}

// A hole that a fragment holds is one of the nests that use it: with `let tile = ...` the nest
// `m.o > tile > y` is m.o > ... > y, and the let itself goes. Lines behind the first open nest
// come after whatever is added.
PartialScript parts_of(const Script& script) {
  PartialScript parts;
  std::map<std::string, std::string> fragments;
  for (const Directive& each : script.directives) {
    const Let* let = std::get_if<Let>(&each.operation);
    if (let && (let->text == kRestHole || is_path_text(let->text)))
      fragments[let->name] = let->text;
  }
  for (const Directive& each : script.directives) {
    const Let* let = std::get_if<Let>(&each.operation);
    if (let && let->text == kRestHole) continue;
    const Nest* nest = std::get_if<Nest>(&each.operation);
    const NestTree tree = nest ? Expansion(fragments).run(nest->tree) : nullptr;
    if (!tree || !has_holes(tree)) {
      (parts.is_open() ? parts.after : parts.before).push_back(each);
      continue;
    }
    parts.nests.push_back(each);
    std::get<Nest>(parts.nests.back().operation).tree = tree;
  }
  if (script.directives.empty())
    parts.nests.push_back({Nest{"", nest_statement(kRestHole)}, Provenance::Person, 0});
  return parts;
}

}  // namespace polyte::schedule
