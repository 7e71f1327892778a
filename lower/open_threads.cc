#include "lower/open_threads.h"

#include <algorithm>

namespace polyte::lower {

using ir::Affine;
using ir::LoopKind;

const char* const OpenThreads::kThread = "thread";

namespace {

// A term as an expression again, its floor included.
Affine term_value(const ir::Term& term) {
  const Affine atom = term.atom.div
                          ? ir::floor_div(term.atom.div->numerator, term.atom.div->denominator)
                          : Affine::symbol(term.atom.symbol);
  return atom * term.coefficient;
}

std::set<std::string> symbols_of(const Affine& e) {
  std::set<std::string> symbols;
  e.collect_symbols(symbols);
  return symbols;
}

}  // namespace

void OpenThreads::enter(const ir::For& loop) {
  const Affine thread = Affine::symbol(kThread);
  if (loop.kind == LoopKind::Thread) values_[loop.var] = thread;
  if (loop.kind == LoopKind::Warp) values_[loop.var] = ir::floor_div(thread, ir::kLanes);
  if (loop.kind == LoopKind::Lane) values_[loop.var] = ir::mod(thread, ir::kLanes);
}

// A term is the thread's if all its symbols are open loops of threads. One that mixes, (t + i)//4,
// cannot be split: nullopt.
std::optional<Affine> OpenThreads::part_of(const Affine& e) const {
  Affine part = 0;
  for (const ir::Term& term : e.terms()) {
    const Affine whole = term_value(term);
    const std::set<std::string> symbols = symbols_of(whole);
    const auto open = [&](const std::string& s) { return is_open(s); };
    if (std::ranges::none_of(symbols, open)) continue;
    if (!std::ranges::all_of(symbols, open)) return std::nullopt;
    part = part + ir::substitute(whole, values_);
  }
  return part;
}

// Also the terms that mix: what is left has no open loop of threads in it.
Affine OpenThreads::own_part_of(const Affine& e) const {
  Affine part = 0;
  for (const ir::Term& term : e.terms()) {
    const Affine whole = term_value(term);
    const std::set<std::string> symbols = symbols_of(whole);
    if (std::ranges::any_of(symbols, [&](const std::string& s) { return is_open(s); }))
      part = part + whole;
  }
  return part;
}

// Thread numbers that differ by a multiple of 32 in each term have the same lane, maybe in other
// warps.
bool is_one_lane(const Affine& a, const Affine& b) {
  const Affine apart = a - b;
  return apart.constant() % ir::kLanes == 0 &&
         std::ranges::all_of(apart.terms(),
                             [](const ir::Term& t) { return t.coefficient % ir::kLanes == 0; });
}

bool has_exchange(const ir::Stmt& s) {
  bool found = false;
  ir::for_each_stmt(s, [&](const ir::Stmt& each) {
    const auto* store = std::get_if<ir::Store>(&each->op);
    found = found || (store && std::holds_alternative<ir::LaneRead>(store->value->op));
  });
  return found;
}

}  // namespace polyte::lower
