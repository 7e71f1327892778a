#include "driver/api/arguments.h"

#include <algorithm>
#include <cstdint>

#include "driver/api/strided_tensors.h"
#include "support/error.h"

namespace polyte::api {
namespace {

// What is wrong with the argument for one tensor; nothing where it fits.
void check_argument(const TensorInfo& tensor, const Argument* argument,
                    std::vector<std::string>& problems) {
  auto complain = [&](const std::string& what) {
    problems.push_back("argument '" + tensor.name + "' " + what);
  };
  if (!argument) return complain("is missing");
  if (argument->dtype != tensor.dtype) {
    complain("is " + std::string(to_string(argument->dtype)) + ", expected " +
             std::string(to_string(tensor.dtype)));
  }
  const std::int64_t expected = runtime::count_elements(tensor.shape);
  if (!argument->shape.empty() && argument->shape != tensor.shape) {
    complain("has shape " + runtime::to_string(argument->shape) + ", expected " +
             runtime::to_string(tensor.shape));
  }
  if (static_cast<std::int64_t>(argument->elements) != expected) {
    complain("has " + std::to_string(argument->elements) + " elements, expected " +
             std::to_string(expected) + ": " + runtime::to_string(tensor.shape));
  }
  if (!argument->data && expected > 0) complain("has no memory");
  if (!argument->strides.empty())
    if (const std::string problem = stride_problem(tensor, argument->strides); !problem.empty())
      complain(problem);
  if (argument->strides.empty() &&
      reinterpret_cast<std::uintptr_t>(argument->data) %
              static_cast<std::uintptr_t>(size_in_bytes(tensor.dtype)) !=
          0)
    complain("is not aligned to its element");
  if (is_written(tensor) && !argument->writable)
    complain("is written: its memory must not be const");
}

// Half-open ranges of bytes; what has no elements overlaps nothing, and what has strides is copied.
bool overlap(const Argument& a, const Argument& b) {
  if (!a.strides.empty() || !b.strides.empty()) return false;
  const auto bytes = [](const Argument& x) {
    return x.elements * static_cast<std::size_t>(size_in_bytes(x.dtype));
  };
  const auto at = [](const Argument& x) { return reinterpret_cast<std::uintptr_t>(x.data); };
  return bytes(a) > 0 && bytes(b) > 0 && at(a) < at(b) + bytes(b) && at(b) < at(a) + bytes(a);
}

// A kernel takes it that what it writes lies in no other tensor. One problem a pair; every
// argument is there.
void check_overlaps(const std::vector<TensorInfo>& tensors, const std::vector<Argument>& arguments,
                    std::vector<std::string>& problems) {
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    for (std::size_t j = i + 1; j < tensors.size(); ++j) {
      const bool first = is_written(tensors[i]);
      if (!first && !is_written(tensors[j])) continue;
      const std::string &one = tensors[i].name, &other = tensors[j].name;
      if (overlap(*find_argument(arguments, one), *find_argument(arguments, other)))
        problems.push_back("argument '" + (first ? one : other) +
                           "' is written and overlaps argument '" + (first ? other : one) + "'");
    }
  }
}

}  // namespace

bool is_written(const TensorInfo& tensor) {
  return tensor.role == ir::Role::Out || tensor.role == ir::Role::InOut;
}

const Argument* find_argument(const std::vector<Argument>& arguments, const std::string& name) {
  auto it = std::ranges::find_if(arguments, [&](const Argument& a) { return a.name == name; });
  return it == arguments.end() ? nullptr : &*it;
}

void check_names(const std::vector<TensorInfo>& wanted, const std::vector<Argument>& arguments,
                 std::vector<std::string>& problems) {
  for (const Argument& argument : arguments) {
    if (std::ranges::none_of(wanted,
                             [&](const TensorInfo& t) { return t.name == argument.name; })) {
      problems.push_back("argument '" + argument.name + "': there is no such tensor");
    } else if (find_argument(arguments, argument.name) != &argument) {
      problems.push_back("argument '" + argument.name + "' is given twice");
    }
  }
}

void check_arguments(const std::vector<TensorInfo>& wanted, const std::vector<Argument>& arguments,
                     int threads) {
  std::vector<std::string> problems;
  for (const TensorInfo& tensor : wanted)
    check_argument(tensor, find_argument(arguments, tensor.name), problems);
  check_names(wanted, arguments, problems);
  if (threads < 1)
    problems.push_back("threads is " + std::to_string(threads) + ", expected at least 1");
  if (problems.empty()) check_overlaps(wanted, arguments, problems);
  if (!problems.empty()) throw UserError(ExitStatus::InvalidInput, problems);
}

// For prepare_calls, where the other arguments come later.
std::vector<TensorInfo> constants_of(const std::vector<TensorInfo>& tensors) {
  std::vector<TensorInfo> constants;
  std::ranges::copy_if(tensors, std::back_inserter(constants),
                       [](const TensorInfo& tensor) { return tensor.role == ir::Role::Const; });
  return constants;
}

void check_addresses(const std::vector<TensorInfo>& tensors, std::span<runtime::Tensor> bound,
                     std::span<void* const> data) {
  if (data.size() != tensors.size())
    throw UserError(ExitStatus::InvalidInput, std::to_string(data.size()) +
                                                  " addresses, expected one for each of " +
                                                  std::to_string(tensors.size()) + " tensors");
  // All is well in nearly every call: this looks at numbers alone. What is wrong is said by the
  // slow way below, which has the names.
  const auto at = [&](std::size_t i) { return reinterpret_cast<std::uintptr_t>(data[i]); };
  const auto bytes = [&](std::size_t i) { return static_cast<std::uintptr_t>(bound[i].bytes()); };
  bool is_right = true;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i].role == ir::Role::Const || bytes(i) == 0) continue;
    is_right = is_right && at(i) != 0 &&
               at(i) % static_cast<std::uintptr_t>(size_in_bytes(tensors[i].dtype)) == 0;
    // Two tensors may share memory if neither is written. Constants were packed, so their
    // memory is not read any more.
    for (std::size_t j = 0; j < i; ++j)
      if ((is_written(tensors[i]) || is_written(tensors[j])) &&
          tensors[j].role != ir::Role::Const && bytes(j) > 0)
        is_right = is_right && (at(i) >= at(j) + bytes(j) || at(j) >= at(i) + bytes(i));
  }
  if (is_right) return;
  std::vector<TensorInfo> others;
  std::vector<Argument> arguments;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i].role == ir::Role::Const) continue;
    others.push_back(tensors[i]);
    arguments.push_back({tensors[i].name, tensors[i].dtype, data[i],
                         static_cast<std::size_t>(bound[i].elements())});
  }
  check_arguments(others, arguments, 1);
  POLYTE_CHECK(false, "addresses that are refused in one way and not in the other");
}

}  // namespace polyte::api
