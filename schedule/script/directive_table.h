// The directives of the language, one row each: the word, how a line goes on, how it prints, what
// applies it, and what it may leave undone. A new directive is its struct (directives.h), its
// primitive, and a row in the table of its family.
#pragma once

#include <string>
#include <vector>

#include "schedule/script/effects.h"
#include "schedule/script/line_parser.h"
#include "schedule/script/primitives/primitives.h"

namespace polyte::schedule {

// Reads what stands after the word; one line may be several directives.
using ParseLine = void (*)(LineParser&, std::vector<Operation>& into);

struct DirectiveRow {
  const char* word = "";      // empty: a form that the word of another row, or a bracket, begins
  ParseLine parse = nullptr;  // null for such a form
  std::size_t type = 0;       // which of Operation's; several words may write one
  std::string (*print)(const Operation&) = nullptr;
  Applied (*apply)(const State&, const Operation&, ScriptEnvironment&, Prover*) = nullptr;
  // What it may leave undone; null: nothing that an unchanged State would not show.
  IdleParts idle = nullptr;
  bool is_setting = false;  // it changes the environment, never the State
};

const std::vector<DirectiveRow>& setting_directives();    // param, where, let
const std::vector<DirectiveRow>& loop_directives();       // split, tile, reorder, unroll ...
const std::vector<DirectiveRow>& map_directives();        // map, skew, shift, reverse ...
const std::vector<DirectiveRow>& placement_directives();  // nest, compute_at, place ...
const std::vector<DirectiveRow>& algebra_directives();    // rewrite, rfactor ...
const std::vector<DirectiveRow>& block_directives();      // what holds other directives
const std::vector<DirectiveRow>& storage_directives();    // stage and its classic names

// Every row, in the order in which a message lists the words.
const std::vector<DirectiveRow>& all_directives();
const DirectiveRow& row_of(const Operation& operation);

template <class D, class... Types>
constexpr std::size_t position_in(const std::variant<Types...>*) {
  std::size_t position = 0;
  (void)((std::is_same_v<D, Types> || (++position, false)) || ...);
  return position;
}
template <class D>
constexpr std::size_t kTypeOf = position_in<D>(static_cast<const Operation*>(nullptr));

// The row of a primitive.
template <class D, auto kPrint, auto kApply>
DirectiveRow directive(const char* word, ParseLine parse, IdleParts idle = nullptr) {
  return {word,
          parse,
          kTypeOf<D>,
          [](const Operation& operation) { return kPrint(std::get<D>(operation)); },
          [](const State& state, const Operation& operation, ScriptEnvironment& environment,
             Prover* prover) -> Applied {
            return kApply(state, std::get<D>(operation), PrimitiveContext{environment, prover});
          },
          idle};
}

// The row of what writes the environment, or applies other directives in it.
template <class D, auto kPrint, auto kApply>
DirectiveRow with_environment(const char* word, ParseLine parse) {
  return {word, parse, kTypeOf<D>,
          [](const Operation& operation) { return kPrint(std::get<D>(operation)); },
          [](const State& state, const Operation& operation, ScriptEnvironment& environment,
             Prover* prover) -> Applied {
            return kApply(state, std::get<D>(operation), environment, prover);
          }};
}

}  // namespace polyte::schedule
