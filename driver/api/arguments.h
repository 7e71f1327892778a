// The arguments of a call, compared with the tensors that a kernel has: all that is wrong with them
// is said at once.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "driver/api/polyte.h"
#include "runtime/tensor.h"

namespace polyte::api {

bool is_written(const TensorInfo& tensor);

// Null where none has the name.
const Argument* find_argument(const std::vector<Argument>& arguments, const std::string& name);

// Adds a problem for each name that no tensor has, or that is given twice.
void check_names(const std::vector<TensorInfo>& wanted, const std::vector<Argument>& arguments,
                 std::vector<std::string>& problems);

// `wanted`: the tensors that have to be there, of all that there are. UserError(InvalidInput).
void check_arguments(const std::vector<TensorInfo>& wanted, const std::vector<Argument>& arguments,
                     int threads);

// As check_arguments, of addresses alone: nothing is looked up or allocated where all is well.
void check_addresses(const std::vector<TensorInfo>& tensors, std::span<runtime::Tensor> bound,
                     std::span<void* const> data);

std::vector<TensorInfo> constants_of(const std::vector<TensorInfo>& tensors);

}  // namespace polyte::api
