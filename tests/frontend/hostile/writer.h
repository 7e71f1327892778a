// Writes the hostile models of a family, mostly a sound model with one fault built into it.
//
//   w.one("self_loop", ExitStatus::InvalidInput, "Relu", {"y"});
#pragma once

#include <filesystem>
#include <functional>
#include <limits>

#include "tests/frontend/hostile_models.h"
#include "tests/frontend/model_builder.h"

namespace polyte::testing {

inline constexpr std::int64_t kHuge = std::int64_t{1} << 40;
inline constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
inline constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();

class HostileWriter {
 public:
  using Build = std::function<void(ModelBuilder&)>;

  explicit HostileWriter(std::filesystem::path folder) : folder_(std::move(folder)) {}

  void bytes(const std::string& name, ExitStatus expected, const std::string& content);
  // A sound model of input x: f32[2, 3] and output y, to be made unsound.
  void model(const std::string& name, ExitStatus expected, const Build& build, int opset = 13);
  // The same with one node: op(x, ...) -> y.
  void one(const std::string& name, ExitStatus expected, const std::string& op,
           const std::vector<std::string>& inputs, const Build& build = {},
           const std::function<void(onnx::NodeProto&)>& attributes = {});

  const std::filesystem::path& folder() const { return folder_; }
  std::vector<HostileModel> models;

 private:
  std::filesystem::path folder_;
};

// An operand that is a constant list.
HostileWriter::Build listed(const std::string& name, const List& list);

}  // namespace polyte::testing
