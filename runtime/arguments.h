// What a run is given, held against what the artifact says: the values of the open sizes are read
// off the inputs, and every tensor must be of the type and shape that follow from them.
//
//   x f32[batch, 4], y f32[2*batch + 1]       x is f32[3, 4]: batch is 3, so y must be f32[7]
//
// A check of what is right allocates nothing.
#pragma once

#include <span>
#include <vector>

#include "runtime/manifest.h"
#include "runtime/tensor.h"

namespace polyte::runtime {

class ArgumentChecker {
 public:
  // Checked, and longer there than this.
  explicit ArgumentChecker(const ArtifactManifest& manifest);

  // Fills `sizes`, one per symbol. Refuses wrong tensors and outputs that overlap inputs or each
  // other, with all problems (UserError(InvalidInput)); `sizes` are any then.
  void check(std::span<const TensorView> inputs, std::span<const TensorView> outputs,
             std::span<std::int64_t> sizes) const;
  // The same by the inputs alone; only their types and shapes matter, their data may be null.
  std::vector<std::int64_t> sizes_of(std::span<const TensorView> inputs) const;

 private:
  // An extent of an input that is a symbol.
  struct Carrier {
    std::size_t input, axis, symbol;
  };
  const ArtifactManifest& manifest_;
  std::vector<Carrier> carriers_;
  std::vector<OpenNumber> input_bytes_, output_bytes_;

  bool find_sizes(std::span<const TensorView> inputs, std::span<std::int64_t> sizes) const;
  bool note_sizes(std::span<const TensorView> inputs, std::span<std::int64_t> sizes,
                  std::vector<std::string>& problems) const;
  [[noreturn]] void refuse(std::span<const TensorView> inputs,
                           const std::span<const TensorView>* outputs) const;
  void check_overlaps(std::span<const TensorView> inputs, std::span<const TensorView> outputs,
                      std::span<const std::int64_t> sizes) const;
};

}  // namespace polyte::runtime
