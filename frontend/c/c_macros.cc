// Replaces macros: arguments first, then the body again, without the macro itself (C11, 6.10.3).
// Unlike there, what a macro gives is not read together with what follows its use: a body that ends
// in the name of a macro with parameters does not take its arguments from behind it.
#include <set>

#include "frontend/c/c_tokens.h"

namespace polyte::frontend::c {
namespace {

constexpr std::size_t kMostTokens = 1000000;  // of a file whose macros are replaced
constexpr int kDeepestMacro = 64;

class Expander {
 public:
  Expander(const std::map<std::string, Macro>& macros, std::vector<Fault>& faults)
      : macros_(macros), faults_(faults) {}

  std::vector<Token> run(const std::vector<Token>& tokens, int depth = 0) {
    std::vector<Token> result;
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      const auto found =
          tokens[i].kind == TokenKind::Name ? macros_.find(tokens[i].text) : macros_.end();
      // The name of a macro with parameters, without a bracket behind it, is an ordinary name.
      const bool called = i + 1 < tokens.size() && tokens[i + 1].text == "(";
      if (found == macros_.end() || active_.count(tokens[i].text) > 0 ||
          (found->second.is_function && !called)) {
        result.push_back(tokens[i]);
        continue;
      }
      try {
        const std::vector<Token> inside = use(found->first, found->second, tokens, i, depth);
        result.insert(result.end(), inside.begin(), inside.end());
      } catch (const Fault& fault) {
        faults_.push_back(fault);
        result.push_back(tokens[i]);
      }
    }
    return result;
  }

 private:
  const std::map<std::string, Macro>& macros_;
  std::vector<Fault>& faults_;
  std::set<std::string> active_;
  std::size_t made_ = 0;

  // What stands for the use at `i`, which moves to its last token.
  std::vector<Token> use(const std::string& name, const Macro& macro,
                         const std::vector<Token>& tokens, std::size_t& i, int depth) {
    const Token& at = tokens[i];
    if (macro.ambiguous) fail(at, "macro '" + name + "' is defined twice, in different ways");
    if (depth > kDeepestMacro) fail(at, "macro '" + name + "' goes too deep");
    std::map<std::string, std::vector<Token>> arguments;
    if (macro.is_function) arguments = read_arguments(name, macro, tokens, i, depth);
    std::vector<Token> body;
    for (const Token& token : macro.body) {
      if (token.text == "#") fail(at, "macro '" + name + "' has a '#', which is not known here");
      const auto argument = arguments.find(token.text);
      if (argument != arguments.end()) {
        body.insert(body.end(), argument->second.begin(), argument->second.end());
      } else {
        body.push_back({token.kind, token.text, at.line, at.column});
      }
    }
    // Macros that each use the one before twice make 2^n tokens of n lines.
    made_ += body.size();
    if (made_ > kMostTokens)
      fail(at, "macros make more than " + std::to_string(kMostTokens) + " tokens");
    // A macro is not replaced within its own replacement (C11, 6.10.3.4), so `#define x x` ends.
    active_.insert(name);
    std::vector<Token> result = run(body, depth + 1);
    active_.erase(name);
    return result;
  }

  std::map<std::string, std::vector<Token>> read_arguments(const std::string& name,
                                                           const Macro& macro,
                                                           const std::vector<Token>& tokens,
                                                           std::size_t& i, int depth) {
    const Token& at = tokens[i];
    std::vector<std::vector<Token>> lists(1);
    int open = 0;
    for (++i;; ++i) {
      if (i >= tokens.size() || tokens[i].kind == TokenKind::End) {
        i = tokens.size() - 1;
        fail(at, "the arguments of macro '" + name + "' are not closed");
      }
      const std::string& text = tokens[i].text;
      // Brackets within an argument keep its commas.
      if (text == "(" && open++ == 0) continue;
      if (text == ")" && --open == 0) break;
      if (text == "," && open == 1) {
        lists.emplace_back();
      } else {
        lists.back().push_back(tokens[i]);
      }
    }
    if (macro.parameters.empty() && lists.size() == 1 && lists[0].empty()) lists.clear();
    if (lists.size() != macro.parameters.size())
      fail(at, "macro '" + name + "' takes " + std::to_string(macro.parameters.size()) +
                   " arguments, got " + std::to_string(lists.size()));
    std::map<std::string, std::vector<Token>> result;
    for (std::size_t k = 0; k < lists.size(); ++k) {
      made_ += lists[k].size();
      if (made_ > kMostTokens)
        fail(at, "macros make more than " + std::to_string(kMostTokens) + " tokens");
      result[macro.parameters[k]] = run(lists[k], depth + 1);
    }
    return result;
  }
};

}  // namespace

std::vector<Token> expand(const std::vector<Token>& tokens,
                          const std::map<std::string, Macro>& macros, std::vector<Fault>& faults) {
  return Expander(macros, faults).run(tokens);
}

}  // namespace polyte::frontend::c
