#include "driver/api/strided_tensors.h"

#include "driver/api/arguments.h"
#include "runtime/tensor.h"
#include "support/error.h"

namespace polyte::api {
std::string stride_problem(const TensorInfo& tensor, std::span<const std::int64_t> strides) {
  if (strides.size() != tensor.shape.size())
    return "has " + std::to_string(strides.size()) + " strides, expected " +
           std::to_string(tensor.shape.size()) + ": " + runtime::to_string(tensor.shape);
  if (is_written(tensor) && !runtime::is_one_to_one(tensor.shape, strides, 1))
    return "is written, and its strides " + runtime::to_string(strides) +
           " put several elements in one place";
  return "";
}

void StridedTensors::set(std::size_t tensor, std::span<const std::int64_t> strides) {
  if (strides.empty())
    tensors_.erase(tensor);
  else
    tensors_[tensor] = {{strides.begin(), strides.end()}, {}, std::nullopt};
}

std::span<void* const> StridedTensors::gather(const std::vector<TensorInfo>& infos,
                                              std::span<void* const> data) {
  if (data.size() != infos.size()) return data;  // refused by whoever takes them
  dense_.assign(data.begin(), data.end());
  std::vector<std::string> problems;
  for (auto& [i, each] : tensors_) {
    const TensorInfo& info = infos[i];
    std::string problem = stride_problem(info, each.strides);
    if (problem.empty() && !data[i] && runtime::count_elements(info.shape) > 0)
      problem = "has no memory";
    if (!problem.empty()) {
      problems.push_back("argument '" + info.name + "' " + problem);
      continue;
    }
    if (!each.copy || each.shape != info.shape) {
      const std::int64_t size = size_in_bytes(info.dtype);
      std::vector<std::int64_t> bytes = each.strides;
      for (std::int64_t& stride : bytes) stride *= size;
      each.copy.emplace(info.shape, bytes, size);
      each.shape = info.shape;
    }
    each.copy->gather(data[i]);
    dense_[i] = each.copy->dense();
  }
  if (!problems.empty()) throw UserError(ExitStatus::InvalidInput, problems);
  return dense_;
}

void StridedTensors::scatter(const std::vector<TensorInfo>& infos,
                             std::span<void* const> data) const {
  for (const auto& [i, each] : tensors_)
    if (is_written(infos[i])) each.copy->scatter(data[i]);
}

}  // namespace polyte::api
