#include "driver/lab/script_variants.h"

#include <charconv>
#include <map>
#include <optional>
#include <set>

#include "driver/lab/script_steps.h"

namespace polyte::lab {
namespace {

using schedule::Directive;
using schedule::LoopKind;
using schedule::NestTree;
using schedule::Script;

// A larger factor is no size of a tile, and is left alone.
constexpr std::int64_t kMostFactor = 1 << 20;

// "12" and "2*L": the number, and what is behind it. Nothing of another expression.
struct Factor {
  std::int64_t number = 0;
  std::string rest;
  std::string with(std::int64_t value) const { return std::to_string(value) + rest; }
};
std::optional<Factor> factor_of(const std::string& text) {
  Factor factor;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), factor.number);
  factor.rest = std::string(end, text.data() + text.size());
  std::erase(factor.rest, ' ');
  if (error != std::errc() || factor.number < 1 || factor.number > kMostFactor) return std::nullopt;
  if (!factor.rest.empty() && factor.rest != "*L") return std::nullopt;
  return factor;
}

// A split by 4*L is tried by 2*L, by 8*L and by 1; a param by the first two alone, for where it
// stands 1 may mean nothing. Odd numbers are halved downwards. "1" is not listed twice.
std::vector<std::string> neighbours(const std::string& text, bool with_one) {
  const std::optional<Factor> factor = factor_of(text);
  std::vector<std::string> values;
  if (!factor) return values;
  if (factor->number > 1) values.push_back(factor->with(factor->number / 2));
  values.push_back(factor->with(factor->number * 2));
  const bool is_there = text == "1" || (!values.empty() && values.front() == "1");
  if (with_one && !is_there) values.insert(values.begin(), "1");
  return values;
}

// In pre-order, a loop before what is in it: with_kinds counts its loops in the same order,
// which is how kinds and loops belong together.
void collect(const NestTree& tree, std::vector<schedule::NestLoop>& loops) {
  if (const auto* loop = std::get_if<schedule::NestLoop>(&tree->op)) {
    loops.push_back(*loop);
    collect(loop->body, loops);
  } else if (const auto* sequence = std::get_if<schedule::NestSequence>(&tree->op)) {
    for (const NestTree& child : sequence->children) collect(child, loops);
  }
}

std::vector<schedule::NestLoop> loops_of(const NestTree& tree) {  // in pre-order, with their bodies
  std::vector<schedule::NestLoop> loops;
  collect(tree, loops);
  return loops;
}

// The tree with these kinds, in pre-order. Trees are shared and never changed: it is a copy.
NestTree with_kinds(const NestTree& tree, const std::vector<LoopKind>& kinds, std::size_t& at) {
  schedule::NestNode node = *tree;
  if (auto* loop = std::get_if<schedule::NestLoop>(&node.op)) {
    loop->kind = kinds.at(at++);
    loop->body = with_kinds(loop->body, kinds, at);
  } else if (auto* sequence = std::get_if<schedule::NestSequence>(&node.op)) {
    for (NestTree& child : sequence->children) child = with_kinds(child, kinds, at);
  }
  return std::make_shared<const schedule::NestNode>(std::move(node));
}

NestTree with_kinds(const NestTree& tree, const std::vector<LoopKind>& kinds) {
  std::size_t at = 0;
  return with_kinds(tree, kinds, at);
}

std::vector<LoopKind> kinds_of(const NestTree& tree) {
  std::vector<LoopKind> kinds;
  for (const schedule::NestLoop& loop : loops_of(tree)) kinds.push_back(loop.kind);
  return kinds;
}

// The names of the statements below, as they are executed: what tells two loops of one name
// apart.
std::string statements_of(const NestTree& tree) {
  if (const auto* loop = std::get_if<schedule::NestLoop>(&tree->op))
    return statements_of(loop->body);
  if (const auto* leaf = std::get_if<schedule::NestLeaf>(&tree->op)) return leaf->statement;
  std::string text;
  for (const NestTree& child : std::get<schedule::NestSequence>(tree->op).children)
    text += (text.empty() ? "" : ", ") + statements_of(child);
  return text;
}

// A loop as its nest writes it, with its marker: "[m]", which is "[m] > x" without its end.
std::string marked(const schedule::NestLoop& loop) {
  const std::string text = schedule::print(
      schedule::nest_path({{loop.name, loop.kind, nullptr}}, schedule::nest_statement("x")));
  return text.substr(0, text.rfind(" > "));
}

Directive with_tree(Directive directive, NestTree tree) {
  std::get<schedule::Nest>(directive.operation).tree = std::move(tree);
  return directive;
}

// From "m > [n]" to "par n > m" the step is "[n] > m": the new order with the old markers. Each
// further step gives one loop its new marker, and the last of them would be `to` itself.
std::vector<Directive> between_nests(const Directive& from, const Directive& to) {
  const NestTree& old_tree = std::get<schedule::Nest>(from.operation).tree;
  const NestTree& new_tree = std::get<schedule::Nest>(to.operation).tree;
  // By name and statements where the order stays, else by name: loops that both have keep their
  // old markers at first.
  std::map<std::string, LoopKind> known;
  for (const schedule::NestLoop& loop : loops_of(old_tree)) {
    known.try_emplace(loop.name, loop.kind);
    known[loop.name + " of " + statements_of(loop.body)] = loop.kind;
  }
  const std::vector<schedule::NestLoop> loops = loops_of(new_tree);
  const std::vector<LoopKind> last = kinds_of(new_tree);
  std::vector<LoopKind> kinds = last;
  for (std::size_t i = 0; i < loops.size(); ++i) {
    auto found = known.find(loops[i].name + " of " + statements_of(loops[i].body));
    if (found == known.end()) found = known.find(loops[i].name);
    if (found != known.end()) kinds[i] = found->second;
  }
  std::vector<Directive> steps;
  const auto add = [&] {
    Directive step = with_tree(to, with_kinds(new_tree, kinds));
    // A step that prints as either end is no step: nothing would be measured by it.
    if (directive_text(step) != directive_text(from) && directive_text(step) != directive_text(to))
      steps.push_back(std::move(step));
  };
  add();
  for (std::size_t i = 0; i < loops.size(); ++i) {
    if (kinds[i] == last[i]) continue;
    kinds[i] = last[i];
    add();
  }
  return steps;
}

// `step` is on the way where it is neither end.
void add_step(Directive step, const Directive& from, const Directive& to,
              std::vector<Directive>& steps) {
  const std::string before = directive_text(steps.empty() ? from : steps.back());
  if (directive_text(step) != before && directive_text(step) != directive_text(to))
    steps.push_back(std::move(step));
}

// The factor before the tail: which tail there is matters only where the factor leaves a
// remainder.
std::vector<Directive> between_splits(const Directive& from, const Directive& to) {
  const auto &a = std::get<schedule::Split>(from.operation),
             &b = std::get<schedule::Split>(to.operation);
  std::vector<Directive> steps;
  if (a.loop.loop != b.loop.loop || a.loop.statement != b.loop.statement) return steps;
  Directive step = to;
  std::get<schedule::Split>(step.operation).tail = a.tail;
  add_step(step, from, to, steps);
  return steps;
}

// From a stage at m in registers to one at n on the stack: at n in registers.
std::vector<Directive> between_stages(const Directive& from, const Directive& to) {
  const auto &a = std::get<schedule::Stage>(from.operation),
             &b = std::get<schedule::Stage>(to.operation);
  std::vector<Directive> steps;
  if (a.tensor != b.tensor) return steps;
  Directive step = from;
  std::get<schedule::Stage>(step.operation).at = b.at;
  add_step(step, from, to, steps);
  std::get<schedule::Stage>(step.operation).memory = b.memory;
  add_step(step, from, to, steps);
  return steps;
}

}  // namespace

// Each variant is a whole script that differs in one decision, with the words that say which.
// Splits of one name and factor are visited once, and changed together.
std::vector<Variant> factor_variants(const Script& script) {
  std::vector<Variant> variants;
  std::set<std::string> seen;
  for (std::size_t i = 0; i < script.directives.size(); ++i) {
    const schedule::Operation& operation = script.directives[i].operation;
    if (const auto* param = std::get_if<schedule::SetParam>(&operation)) {
      for (const std::string& value : neighbours(param->value.text, false)) {
        Script changed = script;
        changed.directives[i].operation = schedule::SetParam{param->name, {value}, {}};
        variants.push_back(
            {"param " + param->name + " = " + value + ", not " + param->value.text, changed});
      }
    }
    const auto* split = std::get_if<schedule::Split>(&operation);
    if (!split || !seen.insert(split->loop.loop + " by " + split->factor.text).second) continue;
    for (const std::string& value : neighbours(split->factor.text, true)) {
      Script changed = script;
      for (Directive& directive : changed.directives)
        if (auto* other = std::get_if<schedule::Split>(&directive.operation);
            other && other->loop.loop == split->loop.loop &&
            other->factor.text == split->factor.text)
          other->factor.text = value;
      variants.push_back(
          {split->loop.loop + " by " + value + ", not " + split->factor.text, changed});
    }
  }
  return variants;
}

// Markers only, not the order: with every marker taken away by itself, what is left says what
// each of them is worth.
std::vector<Variant> marker_variants(const Script& script) {
  std::vector<Variant> variants;
  for (std::size_t i = 0; i < script.directives.size(); ++i) {
    const auto* nest = std::get_if<schedule::Nest>(&script.directives[i].operation);
    if (!nest) continue;
    const std::vector<schedule::NestLoop> loops = loops_of(nest->tree);
    for (std::size_t k = 0; k < loops.size(); ++k) {
      if (loops[k].kind == LoopKind::Serial) continue;
      std::vector<LoopKind> kinds = kinds_of(nest->tree);
      kinds[k] = LoopKind::Serial;
      Script changed = script;
      changed.directives[i] = with_tree(script.directives[i], with_kinds(nest->tree, kinds));
      variants.push_back(
          {marked(loops[k]) + " of " + statements_of(loops[k].body) + ": serial", changed});
    }
  }
  return variants;
}

std::vector<Directive> between(const Directive& from, const Directive& to) {
  if (from.operation.index() != to.operation.index()) return {};
  if (std::holds_alternative<schedule::Nest>(from.operation)) return between_nests(from, to);
  if (std::holds_alternative<schedule::Split>(from.operation)) return between_splits(from, to);
  if (std::holds_alternative<schedule::Stage>(from.operation)) return between_stages(from, to);
  return {};
}

}  // namespace polyte::lab
