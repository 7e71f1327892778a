#include "ir/align_iterators.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "ir/relations.h"

namespace polyte::ir {

namespace {

// An iterator of the statement, what it is to be called.
using Names = std::map<std::string, std::string>;

class Aligner {
 public:
  explicit Aligner(Program& program) : program_(program) {
    for (const Statement& s : program.statements)
      names_.insert(s.iterators.begin(), s.iterators.end());
    for (const Buffer& buffer : program.buffers) names_.insert(buffer.name);
    names_.insert(program.params.begin(), program.params.end());
  }

  void run() {
    std::vector<Statement>& all = program_.statements;
    for (std::size_t i = 0; i < all.size(); ++i) {
      // What a sum reads says more than where it begins: the beginning follows its terms.
      const bool begins = i + 1 < all.size() && starts_reduction(all[i], all[i + 1]);
      if (begins) align(all[i + 1]);
      align(all[i]);
      if (begins) ++i;
    }
  }

 private:
  Program& program_;
  std::set<std::string> names_;  // all that are taken
  // By buffer: subscripts of the last statement that wrote it.
  std::map<std::string, std::vector<Index>> written_;

  void align(Statement& s) {
    rename(s, wishes(s));
    for (const Access& write : s.writes) written_[write.buffer] = write.indices;
  }

  // An iterator that stands as a subscript of a tensor wants the name that the last writer of it
  // has in that dimension. What a statement writes counts before what it reads; each name is given
  // once.
  Names wishes(const Statement& s) const {
    Names wanted;
    std::set<std::string> given;
    const auto add = [&](const std::string& buffer, const std::vector<Index>& indices) {
      const auto writer = written_.find(buffer);
      if (writer == written_.end()) return;
      for (std::size_t d = 0; d < indices.size(); ++d) {
        const auto own = name_of(indices[d]), other = name_of(writer->second[d]);
        if (!own || !other || wanted.contains(*own) || given.contains(*other)) continue;
        wanted.emplace(*own, *other);
        given.insert(*other);
      }
    };
    for (const Access& write : s.writes) add(write.buffer, write.indices);
    for (const Load* load : reads_of(s)) add(load->buffer, load->indices);
    return wanted;
  }

  // The iterator that a subscript is, if it is one.
  std::optional<std::string> name_of(const Index& index) const {
    const auto name = index.indirect ? std::nullopt : index.affine.as_symbol();
    const bool is_size = name && std::ranges::find(program_.params, *name) != program_.params.end();
    return is_size ? std::nullopt : name;
  }

  // Others step aside where they have a name that is wanted.
  void rename(Statement& s, Names wanted) {
    std::set<std::string> given;
    for (const auto& [own, name] : wanted) given.insert(name);
    for (const std::string& iterator : s.iterators)
      if (!wanted.contains(iterator) && given.contains(iterator))
        wanted.emplace(iterator, fresh(iterator));
    if (std::ranges::all_of(wanted, [](const auto& wish) { return wish.first == wish.second; }))
      return;
    Bindings bindings;
    for (const auto& [own, name] : wanted) bindings[own] = Affine::symbol(name);
    const auto renamed = [&](std::string& name) {
      if (const auto found = wanted.find(name); found != wanted.end()) name = found->second;
    };
    std::ranges::for_each(s.iterators, renamed);
    std::ranges::for_each(s.reductions, renamed);
    for (Constraint& c : s.domain) c = substitute(c, bindings);
    for (Access& write : s.writes)
      for (Index& index : write.indices) {
        index.affine = substitute(index.affine, bindings);
        if (index.indirect) index.indirect = substitute(index.indirect, bindings);
      }
    for (Expr& value : s.values) value = substitute(value, bindings);
    if (s.guard) s.guard = substitute(s.guard, bindings);
  }

  std::string fresh(const std::string& base) {
    for (int i = 2;; ++i)
      if (const std::string name = base + std::to_string(i); names_.insert(name).second)
        return name;
  }
};

}  // namespace

Program align_iterators(Program program) {
  const bool is_plain = std::ranges::all_of(
      program.order, [](const Item& item) { return std::holds_alternative<std::size_t>(item); });
  if (is_plain && program.open.empty()) Aligner(program).run();
  return program;
}

}  // namespace polyte::ir
