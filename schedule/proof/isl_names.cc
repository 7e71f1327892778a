#include "schedule/proof/isl_names.h"

#include <isl/id.h>
#include <isl/map.h>
#include <isl/set.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <set>

namespace polyte::schedule {
namespace {

// Words that isl's reader takes for its own, in any case of letters.
const std::set<std::string>& words_of_isl() {
  static const std::set<std::string> words{
      "exists", "and",  "or",    "implies", "not",    "infty", "infinity", "nan",   "min", "max",
      "rat",    "true", "false", "ceild",   "floord", "mod",   "ceil",     "floor", "e",   "fold"};
  return words;
}

// a.b and a_b have one isl_name: the second becomes a_b_.
class Unique {
 public:
  std::string operator()(const std::string& name) {
    std::string text = isl_name(name);
    while (!used_.insert(text).second) text += "_";
    return text;
  }

 private:
  std::set<std::string> used_;
};

std::string taken(char* text) {
  const std::unique_ptr<char, decltype(&std::free)> owner(text, std::free);
  return text ? text : "";
}

// A model's sizes have their names of the Program, which may have dots.
isl_map* with_params(isl_map* map, const std::vector<std::string>& params) {
  for (std::size_t i = 0;
       i < params.size() && static_cast<isl_size>(i) < isl_map_dim(map, isl_dim_param); ++i)
    map = isl_map_set_dim_name(map, isl_dim_param, static_cast<unsigned>(i), params[i].c_str());
  return map;
}

isl_set* with_params(isl_set* set, const std::vector<std::string>& params) {
  for (std::size_t i = 0;
       i < params.size() && static_cast<isl_size>(i) < isl_set_dim(set, isl_dim_param); ++i)
    set = isl_set_set_dim_name(set, isl_dim_param, static_cast<unsigned>(i), params[i].c_str());
  return set;
}

isl_map* named(isl_map* map, isl_dim_type side, const std::string& tuple,
               const std::vector<std::string>& dims) {
  map = isl_map_set_tuple_id(map, side, isl_id_alloc(isl_map_get_ctx(map), tuple.c_str(), nullptr));
  for (std::size_t d = 0; d < dims.size(); ++d)
    map = isl_map_set_dim_name(map, side, static_cast<unsigned>(d), dims[d].c_str());
  return map;
}

}  // namespace

// A dot or any other sign becomes an underscore; a first digit gets one in front, a word of isl's
// one behind: acc.update -> acc_update, 2x -> _2x, max -> max_.
std::string isl_name(const std::string& name) {
  std::string text;
  for (const char c : name) text += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  if (text.empty() || std::isdigit(static_cast<unsigned char>(text.front())) != 0)
    text = "_" + text;
  std::string lower = text;
  std::ranges::transform(lower, lower.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return words_of_isl().contains(lower) ? text + "_" : text;
}

IslNames::IslNames(const IslModel& model) {
  Unique of_params, of_statements;
  for (const std::string& param : model.params) params_.push_back(of_params(param));
  for (const IslStatement& s : model.statements) {
    statements_.push_back(of_statements(s.statement->body.name));
    Unique of_dims = of_params;  // an iterator never has the name of a size
    std::vector<std::string>& dims = iterators_.emplace_back();
    for (const std::string& iterator : s.statement->body.iterators)
      dims.push_back(of_dims(iterator));
  }
}

isl::set IslNames::readable(isl::set instances, std::size_t i) const {
  isl_set* set = with_params(instances.release(), params_);
  set = isl_set_set_tuple_id(set,
                             isl_id_alloc(isl_set_get_ctx(set), statements_[i].c_str(), nullptr));
  for (std::size_t d = 0; d < iterators_[i].size(); ++d)
    set =
        isl_set_set_dim_name(set, isl_dim_set, static_cast<unsigned>(d), iterators_[i][d].c_str());
  return isl::manage(set);
}

isl::map IslNames::readable(isl::map from_instances, std::size_t i) const {
  return isl::manage(named(with_params(from_instances.release(), params_), isl_dim_in,
                           statements_[i], iterators_[i]));
}

isl::map IslNames::readable(isl::map pairs, std::size_t i, std::size_t j) const {
  return isl::manage(
      named(readable(pairs, i).release(), isl_dim_out, statements_[j], iterators_[j]));
}

isl::set IslNames::readable_params(isl::set of_params) const {
  return isl::manage(with_params(of_params.release(), params_));
}

std::string text_of(const isl::set& set) { return taken(isl_set_to_str(set.get())); }
std::string text_of(const isl::map& map) { return taken(isl_map_to_str(map.get())); }

}  // namespace polyte::schedule
