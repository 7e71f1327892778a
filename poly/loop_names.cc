#include "poly/loop_names.h"

#include <cctype>
#include <ranges>

namespace polyte::poly {
namespace {

// Names are for people, and the script language knows loops by them: i for row i, I for i + t.
class Namer {
 public:
  Namer(const ir::Program& program, const std::set<const OrderLoop*>& tiled)
      : program_(program), tiled_(tiled) {
    for (const ir::Buffer& buffer : program_.buffers) reserved_.insert(buffer.name);
    for (const std::string& param : program_.params) reserved_.insert(param);
    for (const auto& [size, value] : program_.sizes) reserved_.insert(size);
  }

  std::map<const OrderLoop*, std::string> run(const OrderTree& tree) {
    // A `tile` directive means every loop of a name: names of tiled loops are unique in the tree,
    // and kept from the others, whose names are unique on their path.
    name_below(tree, true, {});
    reserved_.insert(of_tiled_.begin(), of_tiled_.end());
    name_below(tree, false, {});
    return std::move(names_);
  }

 private:
  const ir::Program& program_;
  const std::set<const OrderLoop*>& tiled_;
  std::map<const OrderLoop*, std::string> names_;
  std::set<std::string> reserved_, of_tiled_;

  void name_below(const OrderTree& tree, bool tiled, std::set<std::string> on_path) {
    if (const auto* sequence = std::get_if<OrderSequence>(&tree->op)) {
      for (const OrderTree& child : sequence->children) name_below(child, tiled, on_path);
    } else if (const auto* band = std::get_if<OrderBand>(&tree->op)) {
      for (const OrderLoop& loop : band->loops) {
        if (tiled_.contains(&loop) != tiled) continue;
        const std::string name =
            fresh(wanted_name(loop, statements_below(band->child)), tiled ? of_tiled_ : on_path);
        names_[&loop] = name;
        (tiled ? of_tiled_ : on_path).insert(name);
      }
      name_below(band->child, tiled, std::move(on_path));
    }
  }

  // An iterator's own where that is the row of some statement, its capital where the row only
  // brings it in.
  std::string wanted_name(const OrderLoop& loop, const std::vector<std::string>& statements) const {
    for (const std::string& statement : statements)
      if (const auto symbol = loop.rows.at(statement).as_symbol()) return *symbol;
    for (const std::string& statement : statements)
      for (const std::string& it : program_.statement(statement).iterators | std::views::reverse)
        if (loop.rows.at(statement).uses(it))
          return std::string(1, static_cast<char>(std::toupper(it[0]))) + it.substr(1);
    return "c";
  }

  std::string fresh(const std::string& wanted, const std::set<std::string>& taken) const {
    std::string name = wanted;
    for (int i = 2; reserved_.contains(name) || taken.contains(name); ++i)
      name = wanted + std::to_string(i);
    return name;
  }
};

}  // namespace

std::map<const OrderLoop*, std::string> loop_names(const ir::Program& program,
                                                   const OrderTree& tree,
                                                   const std::set<const OrderLoop*>& tiled) {
  return Namer(program, tiled).run(tree);
}

}  // namespace polyte::poly
