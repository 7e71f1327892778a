// What the parts of one statement's form share: its axes, and the operations so far (array_form.h).
#pragma once

#include <nlohmann/json.hpp>

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "driver/lab/array_statement.h"
#include "ir/program.h"

namespace polyte::lab {

struct Axis {
  std::string name;
  std::int64_t start = 0, count = 0;
};

// An array of the statement's rank; one element along the axes that it does not vary over.
struct Value {
  int id = 0;
  std::set<std::size_t> axes;
};

class ArrayScope {
 public:
  using Json = nlohmann::ordered_json;

  // Axes are the statement's iterators but for counters of loops. Throws NoForm where a range
  // is not known.
  ArrayScope(const ir::Program& program, const ir::Statement& statement, ValueIds& ids);

  const ir::Program& program() const { return program_; }
  const ir::Statement& statement() const { return statement_; }
  const std::vector<Axis>& axes() const { return axes_; }
  const ir::Ranges& ranges() const { return ranges_; }
  std::size_t rank() const { return axes_.size(); }
  std::size_t axis(const std::string& name) const;  // InternalError if absent
  bool is_empty() const;                            // nothing is executed
  std::int64_t points(const std::set<std::size_t>& axes) const;
  std::set<std::size_t> axes_of(const ir::Affine& e) const;

  int emit(Json operation);  // receives "out"; its number
  std::vector<Json> take() { return std::move(steps_); }
  // What an attempt that gave nothing has emitted would be computed all the same.
  std::size_t step_count() const { return steps_.size(); }
  void drop_after(std::size_t count) { steps_.resize(count); }

  Value literal(DType type, const std::string& text);
  Value affine(const ir::Affine& e, DType type);
  Value unary(const std::string& op, const Value& a);
  Value binary(const std::string& op, const Value& a, const Value& b);
  Value select(const Value& condition, const Value& a, const Value& b);
  Value cast(DType type, const Value& a);
  // Where all of them hold; nullopt where they do everywhere.
  std::optional<Value> mask(const std::vector<ir::Constraint>& constraints);

 private:
  const ir::Program& program_;
  const ir::Statement& statement_;
  ValueIds& ids_;
  std::vector<Json> steps_;
  std::vector<Axis> axes_;
  ir::Ranges ranges_;

  Value atom(const ir::Atom& atom);
};

// A number as JSON has none: "inf", "nan".
std::string number_text(double value);

// A view of a tensor over the statement's axes, padded where the read is; and where no slice is
// one, a gather.
Value read_array(ArrayScope& scope, const ir::Load& load, DType type,
                 const std::function<Value(const ir::Expr&)>& value_of);

// Whether a padded read's guard says no more than that its subscripts lie within the tensor.
bool is_padding(const ArrayScope& scope, const ir::Load& load);

// Iterators that stand in one subscript together with another: windows.
std::set<std::string> window_iterators(const ir::Expr& value);

// A sum of products of a window of one tensor with another one as a convolution; nullopt where
// it is none.
std::optional<Value> convolution(ArrayScope& scope);
// A reduction of a window of one tensor: a pool; nullopt where it is none.
std::optional<Value> pool(ArrayScope& scope);

}  // namespace polyte::lab
