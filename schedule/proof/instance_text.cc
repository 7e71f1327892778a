#include "schedule/proof/prover_impl.h"

namespace polyte::schedule {

Instance make_instance(const ir::Statement& statement, const std::vector<std::int64_t>& values) {
  Instance instance{statement.name, {}};
  for (std::size_t i = 0; i < statement.iterators.size(); ++i) {
    instance.iterators.emplace_back(statement.iterators[i], values.at(i));
  }
  return instance;
}

std::string cell_text(const ir::Access& access, const ir::Statement& statement, const Point& point,
                      std::size_t first_value) {
  ir::Values values = point.params;
  for (std::size_t i = 0; i < statement.iterators.size(); ++i) {
    values[statement.iterators[i]] = point.values.at(first_value + i);
  }
  std::string text = access.buffer + "[";
  for (std::size_t i = 0; i < access.indices.size(); ++i) {
    text += i ? ", " : "";
    text += access.indices[i].indirect
                ? "*"
                : std::to_string(ir::evaluate(access.indices[i].affine, values));
  }
  return text + "]";
}

std::string access_pattern(const ir::Access& access) {
  std::string text = access.buffer + "[";
  for (std::size_t i = 0; i < access.indices.size(); ++i) {
    text += (i ? ", " : "");
    text += access.indices[i].indirect ? "*" : ir::to_string(access.indices[i].affine);
  }
  return text + "]";
}

}  // namespace polyte::schedule
