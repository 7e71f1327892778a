// polyte cache: the kernels that the library calls keep between processes
// (driver/api/kernel_cache.h).
#include <nlohmann/json.hpp>

#include <iostream>

#include "driver/api/kernel_cache.h"
#include "driver/cli/cli.h"

namespace polyte::cli {
namespace {

struct CacheOptions {
  std::string folder;
  bool clear = false, json = false;
};

// A folder that is named is looked at also where the default cache is off.
int run_cache(const CacheOptions& options) {
  const api::KernelCache cache(options.folder);
  const api::KernelCache::Contents contents = options.clear ? cache.clear() : cache.contents();
  const bool is_off = options.folder.empty() && api::is_cache_off();
  if (options.json) {
    const nlohmann::json json{
        {"folder", cache.folder()}, {"kernels", contents.kernels},
        {"bytes", contents.bytes},  {"most_bytes", api::KernelCache::kMostBytes},
        {"cleared", options.clear}, {"off", is_off}};
    std::cout << json.dump(2) << "\n";
    return 0;
  }
  if (is_off) {
    std::cout << "off: POLYTE_CACHE says so\n";
    return 0;
  }
  std::cout << cache.folder() << ": " << contents.kernels
            << (contents.kernels == 1 ? " kernel, " : " kernels, ") << contents.bytes
            << " bytes of at most " << api::KernelCache::kMostBytes
            << (options.clear ? ", removed\n" : "\n");
  return 0;
}

}  // namespace

void add_cache(const Verb& app) {
  const Verb verb = app.verb(
      "cache", "kernels that library calls keep between processes: how many, where; removes them");
  auto options = std::make_shared<CacheOptions>();
  verb.option("--folder", options->folder,
              "not the default one: POLYTE_CACHE, else XDG_CACHE_HOME/polyte or ~/.cache/polyte");
  verb.flag("--clear", options->clear, "removes all of them");
  verb.flag("--json", options->json, "as JSON");
  verb.example("polyte cache --clear");
  verb.calls([options] { return run_cache(*options); });
}

}  // namespace polyte::cli
