#include <algorithm>
#include <utility>

#include "ir/relations.h"
#include "schedule/proof/isl_bridge.h"
#include "schedule/proof/isl_names.h"
#include "schedule/proof/openscop.h"

namespace polyte::schedule {
namespace {

using ir::Affine;

// Rows over columns with names. OpenScop has no division: t = e // d becomes a local dimension t
// with the two inequalities that define it,
//
//   e - d*t >= 0,   d - 1 - (e - d*t) >= 0          0 <= e mod d < d
//
// The columns are known only when the last row has been added, as each may bring a division. So
// rows are kept as sums by name and laid out by `text`.
class Relation {
 public:
  Relation(std::vector<std::string> outputs, std::vector<std::string> inputs,
           const std::vector<std::string>& params)
      : outputs_(std::move(outputs)), inputs_(std::move(inputs)), params_(params) {}

  void add(bool equality, const Affine& value, const std::string& comment) {
    Row row = flatten(value);
    row.equality = equality;
    row.comment = comment;
    rows_.push_back(std::move(row));
  }
  void add(const ir::Constraint& c) { add(c.equality, c.expr, to_string(c)); }
  // outputs[at] == value
  void define(std::size_t at, const Affine& value) {
    add(true, value - Affine::symbol(outputs_[at]),
        shown(outputs_[at]) + " == " + to_string(value));
  }

  std::string text(const std::string& type) const {
    const std::size_t columns =
        2 + outputs_.size() + inputs_.size() + divisions_.size() + params_.size();
    std::string text = type + "\n";
    for (const std::size_t number :
         {rows_.size(), columns, outputs_.size(), inputs_.size(), divisions_.size()})
      text += std::to_string(number) + " ";
    text += std::to_string(params_.size()) + "\n# e/i| ";
    std::vector<std::string> locals;
    for (std::size_t i = 0; i < divisions_.size(); ++i) locals.push_back(local(i));
    for (const auto* names : {&outputs_, &inputs_, &std::as_const(locals), &params_})
      if (!names->empty()) text += listed(*names) + " | ";
    text += "1\n";
    for (const Row& row : rows_) text += row_text(row) + "\n";
    return text;
  }

 private:
  struct Row {
    bool equality = false;
    Affine value;  // over all columns, without floors
    std::string comment;
  };
  struct Division {
    Affine numerator;  // without floors
    std::int64_t denominator;
  };
  std::vector<std::string> outputs_, inputs_;
  const std::vector<std::string>& params_;
  std::vector<Division> divisions_;
  std::vector<Row> rows_;

  // A name of a Program may have dots inside, never at its end: "l1." cannot be one.
  static std::string local(std::size_t i) { return "l" + std::to_string(i + 1) + "."; }

  // For comments in the file alone.
  static std::string shown(const std::string& name) { return name.substr(0, name.find('.')); }

  static std::string listed(const std::vector<std::string>& names) {
    std::string text;
    for (const std::string& name : names) text += (text.empty() ? "" : " ") + shown(name);
    return text;
  }

  // Every floor replaced by its column, innermost first: (i // 4 + j) // 2 makes two columns.
  Row flatten(const Affine& value) {
    Affine flat(value.constant());
    for (const ir::Term& term : value.terms()) {
      const std::string symbol = term.atom.div ? column_of(*term.atom.div) : term.atom.symbol;
      flat = flat + Affine::symbol(symbol) * term.coefficient;
    }
    return {false, flat, ""};
  }

  // One column per division: equal ones of several rows share it.
  std::string column_of(const ir::FloorDiv& div) {
    const Affine numerator = flatten(div.numerator).value;
    for (std::size_t i = 0; i < divisions_.size(); ++i)
      if (divisions_[i].numerator == numerator && divisions_[i].denominator == div.denominator)
        return local(i);
    divisions_.push_back({numerator, div.denominator});
    const std::string name = local(divisions_.size() - 1);
    const Affine rest = numerator - Affine::symbol(name) * div.denominator;
    const std::string comment =
        shown(name) + " == (" + to_string(div.numerator) + ")//" + std::to_string(div.denominator);
    rows_.push_back({false, rest, comment});
    rows_.push_back({false, Affine(div.denominator - 1) - rest, comment});
    return name;
  }

  // In the order of the columns: outputs, inputs, locals, parameters, constant.
  std::string row_text(const Row& row) const {
    std::string text = row.equality ? "   0" : "   1";
    const auto cell = [&](std::int64_t value) {
      const std::string digits = std::to_string(value);
      text += std::string(digits.size() < 5 ? 5 - digits.size() : 1, ' ') + digits;
    };
    for (const auto* names : {&outputs_, &inputs_})
      for (const std::string& name : *names) cell(row.value.coefficient(name));
    for (std::size_t i = 0; i < divisions_.size(); ++i) cell(row.value.coefficient(local(i)));
    for (const std::string& name : params_) cell(row.value.coefficient(name));
    cell(row.value.constant());
    return text + "    ## " + row.comment;
  }
};

// Times have the form 2d+1 (Kelly and Pugh) that Clan and CLooG use: places in sequences and values
// of loops alternate, and all statements have equally many.
//
//   t > { i > A; j > B }       A[t, i] -> [0, t, 0, i, 0]
//                              B[t, j] -> [0, t, 1, j, 0]
class Writer {
 public:
  explicit Writer(const State& state) : state_(state), params_(state.reference->params) {
    for (const ScheduledStatement& s : state.statements) {
      for (const ir::Access& write : s.body.writes) number_of(write.buffer);
      for (const ir::Load* load : ir::reads_of(s.body)) number_of(load->buffer);
    }
    if (state.tree) visit(state.tree, {}, 0);
    // Shorter times end in zeros: they differ from all others before that.
    std::size_t longest = 0;
    for (const auto& [name, time] : times_) longest = std::max(longest, time.size());
    for (auto& [name, time] : times_) time.resize(longest);
  }

  std::string operator()() {
    text_ =
        "<OpenScop>\n"
        "\n# =============================================== Global\n# Language\nC\n\n# Context\n";
    Relation context({}, {}, params_);
    for (const ir::Constraint& c : state_.reference->context) context.add(c);
    text_ += context.text("CONTEXT") + "\n# Parameters are " + (params_.empty() ? "not " : "") +
             "provided\n";
    text_ += params_.empty() ? "0\n" : "1\n<strings>\n" + strings() + "\n</strings>\n";
    text_ += "\n# Number of statements\n" + std::to_string(state_.statements.size()) + "\n";
    for (std::size_t i = 0; i < state_.statements.size(); ++i) statement(i);
    extensions();
    return text_ + "</OpenScop>\n";
  }

 private:
  const State& state_;
  std::vector<std::string> params_;
  // The format wants an array's number, from 1, as the first dimension of every access.
  std::vector<std::string> buffers_;  // their number is the place, from 1
  std::map<std::string, std::vector<Affine>> times_;
  std::string text_;

  static std::string joined(const std::vector<std::string>& names, const std::string& between) {
    std::string text;
    for (const std::string& name : names) text += (text.empty() ? "" : between) + name;
    return text;
  }

  std::string strings() const {
    std::vector<std::string> names;
    for (const std::string& param : params_) names.push_back(isl_name(param));
    return joined(names, " ");
  }

  std::size_t number_of(const std::string& buffer) {
    const auto at = std::ranges::find(buffers_, buffer);
    if (at != buffers_.end()) return static_cast<std::size_t>(at - buffers_.begin()) + 1;
    buffers_.push_back(buffer);
    return buffers_.size();
  }

  // Places and loops from the root to the node. A loop is kept by its name, as each statement
  // below has a row of its own for it. A sequence is never a child of a sequence (make_sequence),
  // so that one place between two loops is enough.
  struct Step {
    std::int64_t place = 0;
    std::string loop;  // empty: the place alone
  };
  void visit(const Tree& tree, std::vector<Step> path, std::int64_t place) {
    if (const auto* loop = std::get_if<Loop>(&tree->op)) {
      path.push_back({place, loop->name});
      return visit(loop->body, std::move(path), 0);
    }
    if (const auto* sequence = std::get_if<Sequence>(&tree->op)) {
      for (std::size_t i = 0; i < sequence->children.size(); ++i)
        visit(sequence->children[i], path, static_cast<std::int64_t>(i));
      return;
    }
    const std::string& name = std::get<Leaf>(tree->op).statement;
    const auto s = std::ranges::find_if(state_.statements, [&](const ScheduledStatement& other) {
      return other.body.name == name;
    });
    std::vector<Affine>& time = times_[name];
    for (const Step& step : path) {
      time.emplace_back(step.place);
      time.push_back(row_at(*s, step.loop));
    }
    time.emplace_back(place);
  }

  void statement(std::size_t number) {
    const ir::Statement& s = state_.statements[number].body;
    std::vector<std::string> relations;
    Relation domain(s.iterators, {}, params_);
    for (const ir::Constraint& c : s.domain) domain.add(c);
    relations.push_back(domain.text("DOMAIN"));
    const std::vector<Affine>& time = times_[s.name];
    std::vector<std::string> outputs;
    for (std::size_t i = 0; i < time.size(); ++i)
      outputs.push_back("c" + std::to_string(i + 1) + ".");
    Relation scattering(outputs, s.iterators, params_);
    for (std::size_t i = 0; i < time.size(); ++i) scattering.define(i, time[i]);
    relations.push_back(scattering.text("SCATTERING"));
    for (const ir::Access& write : s.writes) {
      const bool gathers = std::ranges::any_of(
          write.indices, [](const ir::Index& index) { return index.indirect != nullptr; });
      relations.push_back(
          // WRITE is a must-access. A subscript read at run time may be of any cell, and a guard
          // may be false: neither is a must.
          access(s, write.buffer, write.indices, {}, gathers || s.guard ? "MAY_WRITE" : "WRITE"));
      if (s.combiner != ir::Combiner::None)
        relations.push_back(access(s, write.buffer, write.indices, {}, "READ"));
    }
    for (const ir::Load* load : ir::reads_of(s))
      relations.push_back(access(s, load->buffer, load->indices, load->guard, "READ"));
    text_ += "\n# =============================================== Statement " +
             std::to_string(number + 1) + ": " + s.name +
             "\n# Number of relations describing the statement:\n" +
             std::to_string(relations.size()) + "\n\n";
    for (const std::string& relation : relations) text_ += relation + "\n";
    body(s);
  }

  // Arr == the array's number, [1] == the first subscript, and so on. A dimension without a row
  // is any value; the guard of a read is a constraint on the iterators.
  std::string access(const ir::Statement& s, const std::string& buffer,
                     const std::vector<ir::Index>& indices,
                     const std::vector<ir::Constraint>& guard, const std::string& type) {
    std::vector<std::string> outputs{"Arr."};
    for (std::size_t i = 0; i < indices.size(); ++i)
      outputs.push_back("[" + std::to_string(i + 1) + "]");
    Relation relation(outputs, s.iterators, params_);
    relation.define(0, static_cast<std::int64_t>(number_of(buffer)));
    for (std::size_t i = 0; i < indices.size(); ++i)
      if (!indices[i].indirect) relation.define(i + 1, indices[i].affine);
    for (const ir::Constraint& c : guard) relation.add(c);
    return relation.text(type);
  }

  // A[i, j] as A[i][j].
  static std::string with_c_brackets(const std::string& text) {
    std::string result, open;
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] == '[' || text[i] == '(') open += text[i];
      if ((text[i] == ']' || text[i] == ')') && !open.empty()) open.pop_back();
      const bool comma = text[i] == ',' && !open.empty() && open.back() == '[';
      result += comma ? "][" : std::string(1, text[i]);
      if (comma && i + 1 < text.size() && text[i + 1] == ' ') ++i;
    }
    return result;
  }

  // Text for people and for printers of code: no tool computes with it.
  void body(const ir::Statement& s) {
    std::string text;
    for (std::size_t i = 0; i < s.writes.size(); ++i) {
      std::string target = s.writes[i].buffer;
      for (const ir::Index& index : s.writes[i].indices)
        target += "[" + to_string(index.affine) +
                  (index.indirect ? " + " + to_string(index.indirect) : "") + "]";
      const std::string sign = s.combiner == ir::Combiner::None  ? " = "
                               : s.combiner == ir::Combiner::Sum ? " += "
                               : s.combiner == ir::Combiner::Product
                                   ? " *= "
                                   : " " + to_string(s.combiner) + "= ";
      text += (i == 0 ? "" : " ") + target + sign + with_c_brackets(to_string(s.values[i])) + ";";
    }
    text_ += "# Number of Statement Extensions\n1\n<body>\n# Number of original iterators\n" +
             std::to_string(s.iterators.size()) + "\n";
    if (!s.iterators.empty())
      text_ += "# List of original iterators\n" + joined(s.iterators, " ") + "\n";
    text_ += "# Statement body expression\n" + text + "\n</body>\n";
  }

  void extensions() {
    text_ +=
        "\n# =============================================== Extensions\n"
        "<arrays>\n# Number of arrays\n" +
        std::to_string(buffers_.size()) + "\n# Mapping array-identifiers/array-names\n";
    for (std::size_t i = 0; i < buffers_.size(); ++i)
      text_ += std::to_string(i + 1) + " " + buffers_[i] + "\n";
    text_ += "</arrays>\n\n";
  }
};

}  // namespace

std::string openscop_text(const State& state) { return Writer(state)(); }

}  // namespace polyte::schedule
