#include "schedule/script/pinned_facts.h"

#include <algorithm>
#include <numeric>

#include "schedule/script/print_words.h"

namespace polyte::schedule {

bool operator<(const PinnedFact& a, const PinnedFact& b) {
  if (a.statement != b.statement) return a.statement < b.statement;
  if (a.words != b.words) return a.words < b.words;
  return a.value < b.value;
}

namespace {

// ---- what there is in a State

std::string loop_name(const State& state, LoopId id) {
  if (id == kKernel) return "root";
  const Loop* loop = find_loop(state.tree, id);
  return loop ? loop->name : "a loop that is gone";
}

std::string storage_text(const State& state, const StagedBuffer& buffer) {
  std::string text = buffer.name + " for " + buffer.of + " at " +
                     loop_name(state, buffer.scope_loop) + " in " + to_string(buffer.memory) +
                     (buffer.at_compile_time ? " when compile" : "") + " of";
  for (const std::int64_t extent : buffer.shape) text += " " + std::to_string(extent);
  return text;
}

// Hints, storage and rewrites are compared as words: each says all that makes two of them the
// same.
void add_hints(const State& state, std::set<PinnedFact>& facts) {
  const auto say = [&](const std::string& words) { facts.insert({"", {}, words}); };
  for (const PrefetchHint& hint : state.prefetches)
    say("prefetch " + hint.buffer + " at " + loop_name(state, hint.loop) + " distance " +
        std::to_string(hint.distance) + " along " + loop_name(state, hint.along) + " level " +
        std::to_string(hint.level));
  for (const std::string& buffer : state.nontemporal) say("stream " + buffer);
  for (const auto& [temporary, tensor] : state.reused) say("reuse " + tensor + " for " + temporary);
  for (const TensorizedLoop& loop : state.tensorized)
    say("tensorize " + loop.name + " with " + loop.intrinsic);
  for (const Rewrite& rewrite : state.rewrites)
    say("the rewrite of " + rewrite.tensor + (rewrite.other.empty() ? "" : " as " + rewrite.other) +
        (rewrite.loop.empty() ? "" : " over " + rewrite.loop));
}

}  // namespace

std::set<PinnedFact> facts_of(const State& state) {
  std::set<PinnedFact> facts;
  for (const ScheduledStatement& s : state.statements) {
    for (const LoopRow& row : s.rows) {
      facts.insert({s.body.name, row.value, ""});
      if (row.tail && *row.tail != Tail::Guard)
        facts.insert({s.body.name, row.value, print(*row.tail)});
    }
    if (s.atomic) facts.insert({"", {}, "atomic " + s.body.name});
  }
  for (const Leaf* leaf : leaves_of(state.tree)) {
    const NestLeaf said = leaf_said(*leaf, state.tree);
    if (!said.when.empty()) facts.insert({"", {}, leaf->statement + print(said.when)});
    if (!said.at.empty())
      facts.insert({"", {}, leaf->statement + " at " + said.at + print_per(said.per)});
  }
  for (const StagedBuffer& buffer : state.staged)
    facts.insert({"", {}, storage_text(state, buffer)});
  add_hints(state, facts);
  return facts;
}

namespace {

// ---- what a loop counts

void collect_divisors(const ir::Affine& value, std::set<std::int64_t>& into) {
  for (const ir::Term& term : value.terms()) {
    if (!term.atom.div) continue;
    into.insert(term.atom.div->denominator);
    collect_divisors(term.atom.div->numerator, into);
  }
}

// The sizes by which a loop may have been split so that its row is `value`. They are among the
// divisors in the two rows and the quotients of these, since (x // a) // b is x // (a*b); times
// what the coefficients of `whole` have in common, since 2*t // 8 is t // 4.
std::set<std::int64_t> sizes_in(const ir::Affine& value, const ir::Affine& whole) {
  std::set<std::int64_t> found = {1}, all;
  collect_divisors(value, found);
  collect_divisors(whole, found);
  for (const std::int64_t a : found)
    for (const std::int64_t b : found) {
      all.insert(a);
      if (b != 0 && a % b == 0) all.insert(a / b);
    }
  std::int64_t common = 0;  // 2*t // 8 stands as t // 4
  for (const ir::Term& term : whole.terms()) common = std::gcd(common, term.coefficient);
  if (common > 1)
    for (const std::int64_t a : std::set(all)) all.insert(a * common);
  return all;
}

}  // namespace

// Tries the sizes of a chain from its front on: `.o` is a quotient, `.i` a remainder. k.i.o is
// (k % 32) // 4 for the sizes 32 and 4.
bool is_part(const ir::Affine& value, const ir::Affine& whole, std::string_view chain) {
  if (chain.empty()) return value == whole;
  for (const std::int64_t size : sizes_in(value, whole)) {
    const ir::Affine part = chain[1] == 'o' ? ir::floor_div(whole, size) : ir::mod(whole, size);
    if (is_part(value, part, chain.substr(2))) return true;
  }
  return false;
}

namespace {

// Whether a loop counts this value, or several together as its digits: v is v // 8 and v % 8.
bool has_loop(const ScheduledStatement& s, const ir::Affine& value) {
  const auto counts = [&](const ir::Affine& wanted) {
    return std::ranges::any_of(s.rows, [&](const LoopRow& row) { return row.value == wanted; });
  };
  if (counts(value)) return true;
  for (const LoopRow& row : s.rows)
    for (const std::int64_t size : sizes_in(row.value, value))
      if (size > 1 && ir::floor_div(value, size) == row.value && has_loop(s, ir::mod(value, size)))
        return true;
  return false;
}

}  // namespace

// A fact is a loop of a statement (words empty), its tail (words say which), or anything else
// (no statement).
std::string missing(const State& state, const PinnedFact& fact) {
  if (fact.statement.empty()) return "there is no longer: " + fact.words;
  const ScheduledStatement* s = state.find(fact.statement);
  if (!s) return "there is no statement " + fact.statement + " any more";
  if (fact.words.empty())
    return has_loop(*s, fact.value)
               ? ""
               : fact.statement + " has no loop that counts " + ir::to_string(fact.value);
  // Where the loop is in parts, these have tails of their own.
  const auto row = std::ranges::find(s->rows, fact.value, &LoopRow::value);
  if (row == s->rows.end() || (row->tail && print(*row->tail) == fact.words)) return "";
  return "the tail of " + fact.statement + ":" + row->loop + " is not " + fact.words;
}

}  // namespace polyte::schedule
