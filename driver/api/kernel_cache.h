// Compiled kernels kept between processes: a folder of kernel files (kernel_file.h), one for each
// request. Any number of processes may use it at once, and may end at any time: a file appears
// whole or not at all, and one that is damaged is as good as none. Where the files together are
// more than the limit, those not used for longest go.
//
//   KernelCache cache("");  // $POLYTE_CACHE, else $XDG_CACHE_HOME/polyte, else ~/.cache/polyte
//   if (auto kernel = cache.find(key_of(program, options))) ..
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "driver/api/kernel_file.h"

namespace polyte::api {

// What decides the kernel: the Program, the options, the processor, and this build of Polyte.
// "" where no key can be given: for a GPU, for templates of a person's, or where the build
// has no identity.
std::string key_of(const Program& program, const CompileOptions& options);

class KernelCache {
 public:
  static constexpr std::int64_t kMostBytes = std::int64_t{256} << 20;

  // An empty folder: the default one. UserError(Usage) where there is none, for lack of a home.
  explicit KernelCache(const std::string& folder, std::int64_t most_bytes = kMostBytes);

  std::optional<StoredKernel> find(const std::string& key) const;
  // UserError where it cannot be written.
  void keep(const std::string& key, const driver::CompiledOperator& op,
            const KernelTexts& texts) const;

  struct Contents {
    std::int64_t kernels = 0, bytes = 0;
  };
  Contents contents() const;
  Contents clear() const;  // what there was
  const std::string& folder() const { return folder_; }

 private:
  std::string folder_;
  std::int64_t most_bytes_;

  std::string path_of(const std::string& key) const;
  void evict() const;
};

// Whether $POLYTE_CACHE says "off".
bool is_cache_off();

}  // namespace polyte::api
