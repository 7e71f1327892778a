#include <algorithm>

#include "schedule/script/directive_table.h"
#include "schedule/script/primitives/edit.h"
#include "schedule/script/print_words.h"
#include "schedule/script/size_expr.h"

namespace polyte::schedule {

namespace {

// A name that no size could use: its text would end there, or go on as an expression of two sizes.
void check_size_name(const std::string& name) {
  const bool joins = name == "and" || name == "or" || name == "min" || name == "max";
  if (joins || ends_size(name))
    LineParser::fail("no size can be called " + name + ", which is a word of the language");
}

void parse_param(LineParser& line, std::vector<Operation>& into) {
  do {
    SetParam param;
    param.name = line.name("a parameter");
    check_size_name(param.name);
    line.expect("=");
    param.value = line.size_or_hole();
    if (line.accept("in")) {
      line.expect("{");
      do param.domain.push_back(line.size());
      while (line.accept(","));
      line.expect("}");
    }
    into.push_back(std::move(param));
  } while (line.accept(","));
  if (line.accept("where")) into.push_back(Where{{line.raw(false)}});
}

void parse_where(LineParser& line, std::vector<Operation>& into) {
  into.push_back(Where{{line.raw(false)}});
}

// The value stays text to the end of the line: a size, or a fragment of a path (is_path_text).
void parse_let(LineParser& line, std::vector<Operation>& into) {
  const std::string name = line.name("a name");
  line.expect("=");
  if (line.at_end()) line.fail("let " + name + " has no value");
  const std::string value = line.rest();
  if (value != kRestHole && !is_path_text(value)) check_size_name(name);
  into.push_back(Let{name, value});
}

// --- applying

std::optional<Refusal> define(const std::string& name, const std::string& text,
                              ScriptEnvironment& environment) {
  const auto value = evaluate_size(text, environment.values);
  if (!value) return malformed(value.error().reason);
  environment.values[name] = *value;
  return std::nullopt;
}

// A name is given once, so that a line does not depend on which of several definitions is above
// it.
std::optional<Refusal> check_new(const std::string& name, const ScriptEnvironment& environment) {
  const auto value = environment.values.find(name);
  if (value != environment.values.end())
    return malformed(name + " is known already: it is " + std::to_string(value->second));
  const auto fragment = environment.fragments.find(name);
  if (fragment == environment.fragments.end()) return std::nullopt;
  return malformed(name + " is known already: it is " + fragment->second);
}

std::optional<Refusal> set(const SetParam& param, ScriptEnvironment& environment) {
  if (auto refusal = check_new(param.name, environment)) return refusal;
  std::string domain;
  std::vector<std::int64_t> values;
  for (const Size& size : param.domain) {
    const auto value = evaluate_size(size.text, environment.values);
    if (!value) return malformed(value.error().reason);
    values.push_back(*value);
    domain += (domain.empty() ? "{" : ", ") + std::to_string(*value);
  }
  domain += domain.empty() ? "" : "}";
  if (auto refusal = define(param.name, param.value.text, environment)) return refusal;
  const std::int64_t value = environment.values.at(param.name);
  if (values.empty() || std::ranges::find(values, value) != values.end()) return std::nullopt;
  return malformed(param.name + " is " + std::to_string(value) + ", not one of " + domain);
}

Applied unless(std::optional<Refusal> refusal, const State& state) {
  if (refusal) return *refusal;
  return state;
}

Applied apply_set_param(const State& state, const SetParam& d, ScriptEnvironment& environment,
                        Prover*) {
  return unless(set(d, environment), state);
}

// A size is evaluated now, in textual order; a fragment is put in where a nest names it.
Applied apply_let(const State& state, const Let& d, ScriptEnvironment& environment, Prover*) {
  if (auto refusal = check_new(d.name, environment)) return *refusal;
  if (!is_path_text(d.text)) return unless(define(d.name, d.text, environment), state);
  environment.fragments[d.name] = d.text;
  return state;
}

Applied apply_where(const State& state, const Where& d, ScriptEnvironment& environment, Prover*) {
  const auto holds = evaluate_size(d.condition.text, environment.values);
  if (!holds) return malformed(holds.error().reason);
  if (*holds == 0)
    return malformed("the condition does not hold: " +
                     why_false(d.condition.text, environment.values));
  return state;
}

// --- printing

std::string print_set_param(const SetParam& d) { return "param " + param_item(d); }

std::string print_where(const Where& d) { return "where " + d.condition.text; }

std::string print_let(const Let& d) { return "let " + d.name + " = " + d.text; }

// Rows of directives that change the environment alone: no State differs after them, which is
// no idleness (effects.h).
template <class D, auto kPrint, auto kApply>
DirectiveRow setting(const char* word, ParseLine parse) {
  DirectiveRow row = with_environment<D, kPrint, kApply>(word, parse);
  row.is_setting = true;
  return row;
}

}  // namespace

const std::vector<DirectiveRow>& setting_directives() {
  static const std::vector<DirectiveRow> kTable = {
      setting<SetParam, print_set_param, apply_set_param>("param", parse_param),
      setting<Where, print_where, apply_where>("where", parse_where),
      setting<Let, print_let, apply_let>("let", parse_let),
  };
  return kTable;
}

}  // namespace polyte::schedule
