#include <algorithm>

#include "schedule/script/directive_table.h"
#include "schedule/script/print_words.h"

namespace polyte::schedule {

POLYTE_OUT_OF_LINE_DEFAULTS(Operation)

namespace {

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
    text +=
        " with " + std::to_string(script.threads) + (script.threads == 1 ? " thread" : " threads");
  return text + "  " + std::string(to_string(script.dtype)) + "  " + print_contract(script) + "\n";
}

// Directives that were written on one line stay on it: params, and splits of one selector and tail.
bool continues(const Directive& a, const Directive& b) {
  if (a.line == 0 || a.line != b.line || a.file != b.file || a.provenance != b.provenance)
    return false;
  if (std::holds_alternative<SetParam>(a.operation))
    return std::holds_alternative<SetParam>(b.operation);
  const Split* x = std::get_if<Split>(&a.operation);
  const Split* y = std::get_if<Split>(&b.operation);
  return x && y && x->loop.statement == y->loop.statement && x->tail == y->tail;
}

// `param Mr = 4, Nr = 2*L` and `split m by Mr, n by Nr   tail cut`: what the group shares
// (word, selector, tail, provenance) is printed once.
std::string print_group(const std::vector<Directive>& directives, std::size_t begin,
                        std::size_t end) {
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
    return "split " + selector(split->loop.statement) + text + tail_text(split->tail) +
           print(last.provenance);
  return "param " + text + print(last.provenance);
}

}  // namespace

std::string print(const LoopName& name) {
  return name.statement.empty() ? name.loop : name.statement + ":" + name.loop;
}

std::string print(const Directive& directive) {
  return row_of(directive.operation).print(directive.operation) + print(directive.provenance);
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
