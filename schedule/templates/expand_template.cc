#include "schedule/templates/expand_template.h"

#include <algorithm>

#include "schedule/script/line_parser.h"
#include "schedule/script/script_text.h"
#include "support/error.h"

namespace polyte::schedule {
namespace {

// Looks a role up in the innermost open scope that has it: members of `each` groups hide the roles
// of the nest.
class Scopes {
 public:
  explicit Scopes(const Scope& outermost) : open_{&outermost} {}

  void open(const Scope& scope) { open_.push_back(&scope); }
  void close() { open_.pop_back(); }

  template <class T>
  const T* find(std::map<std::string, T> Scope::* table, const std::string& role) const {
    for (auto scope = open_.rbegin(); scope != open_.rend(); ++scope)
      if (const auto found = ((*scope)->*table).find(role); found != ((*scope)->*table).end())
        return &found->second;
    return nullptr;
  }

 private:
  std::vector<const Scope*> open_;
};

using Tokens = std::vector<Token>;

// Rewrites the text of a template line by line, token by token, and parses what comes out as
// directives: the replacement works on text, so that any directive may name roles.
class Expander {
 public:
  Expander(const TemplateFile& file, const Scope& scope,
           const std::map<std::string, std::string>& values)
      : file_(file), scopes_(scope), values_(values) {}

  std::vector<Directive> run() {
    for (const TemplateFile::Line& each : file_.lines) {
      try {
        const std::size_t before = result_.size();
        expand_line(each.line.text);
        for (std::size_t i = before; i < result_.size(); ++i) {  // where a refusal points
          result_[i].line = each.line.line;
          result_[i].file = each.origin;
        }
      } catch (const LineProblem& problem) {
        throw UserError(ExitStatus::InvalidInput,
                        each.origin + ":" + std::to_string(each.line.line) + ": " + problem.text);
      }
    }
    return std::move(result_);
  }

 private:
  const TemplateFile& file_;
  Scopes scopes_;
  const std::map<std::string, std::string>& values_;
  std::map<std::string, std::string> fragments_;  // of `let`, not expanded
  std::vector<Directive> result_;

  // One line of a script may say several operations.
  void add(const std::string& text, Provenance by) {
    for (Operation& operation : parse_directive(text))
      result_.push_back({std::move(operation), by});
  }

  void expand_line(const std::string& text) {
    const Tokens tokens = tokenize(text);
    const std::string& word = tokens.front().text;
    if (word == "let") {
      const std::size_t equals = text.find('=');
      if (equals == std::string::npos) LineParser::fail("expected let NAME = PATH");
      fragments_[tokens[1].text] = text.substr(equals + 1);
    } else if (word == "param") {
      params(text);
    } else if (word == "each") {
      for_each(tokens, 0, [&](std::size_t rest) { expand_line(text.substr(tokens[rest].begin)); });
    } else if (word == "nest") {
      if (const std::string nest = element(Tokens(tokens.begin() + 1, tokens.end() - 1));
          !nest.empty())
        add("nest " + nest, Provenance::Template);
    } else if (const auto line = directive(text, tokens)) {
      add(*line, Provenance::Template);
    }
  }

  std::optional<std::string> directive(const std::string& text, const Tokens& tokens) const {
    const std::string& word = tokens.front().text;
    return word == "fuse" || word == "bind" ? of_loops(tokens) : plain(text, tokens);
  }

  // fuse STATEMENT: free, row.o as NAME;  bind STATEMENT: free, row.o to KIND. A list stands
  // for its loops.
  std::optional<std::string> of_loops(const Tokens& tokens) const {
    const auto find = [&](const char* text) {
      return static_cast<std::size_t>(std::ranges::find(tokens, text, &Token::text) -
                                      tokens.begin());
    };
    const std::size_t colon = find(":"), end = std::min(find("as"), find("to"));
    if (colon != 2 || end + 2 >= tokens.size())
      LineParser::fail("expected STATEMENT: LOOPS as NAME, or to KIND");
    const bool is_kind = tokens[end].text == "to";  // which is no role, whatever it is called
    const auto statement = replaced(tokens[1].text);
    const auto last =
        is_kind ? std::optional(tokens[end + 1].text) : replaced(tokens[end + 1].text);
    const std::string loops = in_brackets(tokens, colon + 1, end);
    if (!statement || !last || loops.empty()) return std::nullopt;
    return tokens[0].text + " " + *statement + ": " + loops + " " + tokens[end].text + " " + *last;
  }

  // A hole without a value is one that the nest has no use for, such as the size of rows in a nest
  // without rows: its `param` is left out.
  void params(const std::string& text) {
    for (Operation& operation : parse_directive(text)) {
      const SetParam* param = std::get_if<SetParam>(&operation);
      if (!param) {
        if (const auto where = plain(text_of(operation), tokenize(text_of(operation))))
          add(*where, Provenance::Template);
        continue;
      }
      const bool is_hole = param->value.text == "?";
      const auto value = values_.find(param->name);
      if (is_hole && value == values_.end()) continue;
      SetParam filled = *param;
      filled.name = *scopes_.find(&Scope::names, param->name);
      if (is_hole) filled.value.text = value->second;
      filled.domain.clear();  // it was asked when the hole was filled
      result_.push_back(
          {std::move(filled), is_hole ? Provenance::TileModel : Provenance::Template});
    }
  }

  static std::string text_of(const Operation& operation) { return print(Directive{operation}); }

  // each GROUP: REST, with the members' scopes open around `body`, which gets the position of REST.
  template <class F>
  void for_each(const Tokens& tokens, std::size_t at, const F& body) {
    if (at + 3 >= tokens.size() || tokens[at + 2].text != ":")
      LineParser::fail("expected each GROUP: ...");
    const std::string& group = tokens[at + 1].text;
    const auto* members = scopes_.find(&Scope::groups, group);
    if (!members) LineParser::fail("a " + file_.structure + " has no group '" + group + "'");
    for (const Scope& member : *members) {
      scopes_.open(member);
      body(at + 3);
      scopes_.close();
    }
  }

  // --- names

  // row.i becomes m.i where the role row stands for the loop m: only the part before the dot is
  // looked up. nullopt where the nest has no such loop. A name that is no role stays as it is.
  std::optional<std::string> replaced(const std::string& name) const {
    const std::size_t dot = std::min(name.find('.'), name.size());
    const std::string* value = scopes_.find(&Scope::names, name.substr(0, dot));
    if (!value) return name;
    if (value->empty()) return std::nullopt;
    return *value + name.substr(dot);
  }

  static std::string text_between(const std::string& text, const Token& before,
                                  const Token& after) {
    return text.substr(before.end, after.begin - before.end);
  }

  // --- lines but nests: names everywhere, lists in brackets and in paths

  std::optional<std::string> plain(const std::string& text, const Tokens& tokens) const {
    std::string result;
    for (std::size_t i = 0; i + 1 < tokens.size(); ++i) {
      if (i > 0) result += text_between(text, tokens[i - 1], tokens[i]);
      if (tokens[i].text == "(" || tokens[i].text == "[") {
        const std::size_t close = closing(tokens, i);
        result += tokens[i].text + in_brackets(tokens, i + 1, close) + tokens[close].text;
        i = close;
        continue;
      }
      if (tokens[i].kind != Token::Kind::Name) {
        result += tokens[i].text;
        continue;
      }
      const auto* list =
          tokens[i + 1].text == ">" ? scopes_.find(&Scope::lists, tokens[i].text) : nullptr;
      if (list && list->empty()) {
        ++i;
        continue;
      }
      const auto name = list ? std::optional(as_path(*list)) : replaced(tokens[i].text);
      if (!name) return std::nullopt;
      result += *name;
    }
    return result;
  }

  static std::string as_path(const std::vector<std::string>& loops) {
    std::string path;
    for (const std::string& loop : loops) path += (path.empty() ? "" : " > ") + loop;
    return path;
  }

  static std::size_t closing(const Tokens& tokens, std::size_t open) {
    int depth = 0;
    for (std::size_t i = open; i < tokens.size(); ++i) {
      const std::string& text = tokens[i].text;
      depth += text == "(" || text == "[" || text == "{";
      depth -= text == ")" || text == "]" || text == "}";
      if (depth == 0) return i;
    }
    LineParser::fail("'" + tokens[open].text + "' is not closed");
  }

  // The items of `a, lane//Nr, rest` one by one: a list stands for its members, and an item is left
  // out where the nest has nothing for a name in it.
  std::string in_brackets(const Tokens& tokens, std::size_t begin, std::size_t end) const {
    std::string result;
    for (std::size_t i = begin; i < end;) {
      std::size_t comma = i;
      while (comma < end && tokens[comma].text != ",") ++comma;
      for (const std::string& item : items(tokens, i, comma))
        result += (result.empty() ? "" : ", ") + item;
      i = comma + 1;
    }
    return result;
  }

  // The members of a list that stands alone; else the item with its names replaced, or nothing
  // where one of them is missing.
  std::vector<std::string> items(const Tokens& tokens, std::size_t begin, std::size_t end) const {
    if (end == begin + 1)
      if (const auto* list = scopes_.find(&Scope::lists, tokens[begin].text)) return *list;
    std::string item;
    for (std::size_t i = begin; i < end; ++i) {
      const auto text =
          tokens[i].kind == Token::Kind::Name ? replaced(tokens[i].text) : tokens[i].text;
      if (!text) return {};
      item += *text;
    }
    return {item};
  }

  // --- nests

  // An element between braces: LOOP > LOOP > STATEMENT, or LOOP > { ELEMENT; ELEMENT } and so on
  // inwards. `each GROUP: ELEMENT` becomes one element for each member. Empty where the nest has
  // nothing for it.
  std::string element(const Tokens& tokens) {
    if (tokens.empty()) LineParser::fail("an element of a nest is empty");
    std::string result;
    if (tokens.front().text == "each") {
      for_each(tokens, 0, [&](std::size_t rest) {
        const std::string one =
            element(Tokens(tokens.begin() + static_cast<std::ptrdiff_t>(rest), tokens.end()));
        if (!one.empty()) result += (result.empty() ? "" : "; ") + one;
      });
      return result;
    }
    std::size_t at = 0;
    while (const std::size_t length = loop_at(tokens, at)) {
      const std::string loop = path_item(tokens, at, at + length);
      if (!loop.empty()) result += loop + " > ";
      at += length + 1;
    }
    const Tokens rest(tokens.begin() + static_cast<std::ptrdiff_t>(at), tokens.end());
    const std::string body = rest.empty() || rest.front().text != "{" ? leaf(rest) : braces(rest);
    return body.empty() ? "" : result + body;
  }

  // How many tokens the loop has that begins here, without the `>` behind it; 0 where the statement
  // or the braces begin.
  static std::size_t loop_at(const Tokens& tokens, std::size_t at) {
    std::size_t end = at;
    if (at < tokens.size() && (tokens[at].text == "<" || tokens[at].text == "["))
      end = at + 3;
    else if (at < tokens.size() && tokens[at].kind == Token::Kind::Name)
      // A loop may have its kind before its name, as in `warp row.i`.
      end = at + (at + 1 < tokens.size() && tokens[at + 1].kind == Token::Kind::Name ? 2 : 1);
    return end > at && end < tokens.size() && tokens[end].text == ">" ? end - at : 0;
  }

  std::string path_item(const Tokens& tokens, std::size_t begin, std::size_t end) {
    const std::size_t length = end - begin;  // NAME, KIND NAME, [NAME]
    const std::string& name = tokens[length == 1 ? begin : begin + 1].text;
    const std::string open = length == 1 ? "" : tokens[begin].text + (length == 2 ? " " : ""),
                      close = length == 3 ? tokens[end - 1].text : "";
    // A fragment is expanded where it is used: the members of a group may give its roles other
    // names each time.
    if (const auto fragment = fragments_.find(name); fragment != fragments_.end())
      return path(fragment->second);
    std::vector<std::string> loops;
    if (const auto* list = scopes_.find(&Scope::lists, name))
      loops = *list;
    else if (const auto loop = replaced(name))
      loops = {*loop};
    std::string result;
    for (const std::string& loop : loops)
      result += (result.empty() ? "" : " > ") + open + loop + close;
    return result;
  }

  // A fragment is a path without its statement. Its last token is an end mark, which becomes a `>`:
  // so that each loop of it ends with one and loop_at finds it.
  std::string path(const std::string& text) {
    Tokens tokens = tokenize(text);
    tokens.back().text = ">";
    std::string result;
    std::size_t at = 0;
    while (const std::size_t length = loop_at(tokens, at)) {
      const std::string loop = path_item(tokens, at, at + length);
      if (!loop.empty()) result += (result.empty() ? "" : " > ") + loop;
      at += length + 1;
    }
    if (at != tokens.size()) LineParser::fail("'" + text + "' is no path of loops");
    return result;
  }

  std::string braces(const Tokens& tokens) {
    const std::size_t close = closing(tokens, 0);
    if (close + 1 != tokens.size())
      LineParser::fail("'" + tokens[close + 1].text + "' is not expected behind '}'");
    std::string result;
    for (std::size_t begin = 1; begin < close;) {
      std::size_t end = begin;
      // To the next `;` that is not between inner braces.
      for (int depth = 0; end < close && (depth > 0 || tokens[end].text != ";"); ++end)
        depth += (tokens[end].text == "{") - (tokens[end].text == "}");
      const std::string one = element(Tokens(tokens.begin() + static_cast<std::ptrdiff_t>(begin),
                                             tokens.begin() + static_cast<std::ptrdiff_t>(end)));
      if (!one.empty()) result += (result.empty() ? "" : "; ") + one;
      begin = end + 1;
    }
    return result.empty() ? "" : "{ " + result + " }";
  }

  std::string leaf(const Tokens& tokens) const {
    std::string result;
    for (const Token& token : tokens) {
      const auto text = token.kind == Token::Kind::Name ? replaced(token.text) : token.text;
      if (!text) return "";
      result += (result.empty() ? "" : " ") + *text;
    }
    return result;
  }
};

}  // namespace

std::vector<Directive> expand(const TemplateFile& file, const Scope& scope,
                              const std::map<std::string, std::string>& values) {
  return Expander(file, scope, values).run();
}

}  // namespace polyte::schedule
