// Data beside the model: what a model may not reach, and what is not there.
#include <filesystem>
#include <fstream>
#include <utility>

#include "tests/frontend/hostile/families.h"
#include "tests/frontend/hostile/writer.h"

namespace polyte::testing {

namespace {

namespace fs = std::filesystem;
using enum ExitStatus;
using onnx::TensorProto;

}  // namespace

void write_external(HostileWriter& w) {
  // The files that no model may reach are as large as the tensor, so that only the rule stands
  // in the way.
  const fs::path inside = w.folder() / "external";
  fs::create_directories(inside / "data");
  for (const fs::path& file : {w.folder() / "w.bin", inside / "data" / "w.bin"}) {
    std::ofstream(file, std::ios::binary) << std::string(12, '\0');
  }
  fs::remove(inside / "data" / "link.bin");
  fs::create_symlink("w.bin", inside / "data" / "link.bin");
  fs::remove(inside / "link");
  fs::create_directory_symlink("data", inside / "link");
  const auto external = [&](const std::string& name, ExitStatus expected,
                            const std::string& location, const std::string& offset = "",
                            const std::string& length = "") {
    w.one("external/" + name, expected, "Add", {"x", "w"}, [&](ModelBuilder& b) {
      onnx::TensorProto& tensor = b.tensor("w", {3});
      tensor.set_data_location(TensorProto::EXTERNAL);
      const std::pair<const char*, std::string> entries[] = {
          {"location", location}, {"offset", offset}, {"length", length}};
      for (const auto& [key, value] : entries) {
        if (value.empty()) continue;
        auto& entry = *tensor.add_external_data();
        entry.set_key(key);
        entry.set_value(value);
      }
    });
  };
  external("sound", Success, "data/w.bin", "0", "12");
  external("absolute", InvalidInput, (w.folder() / "w.bin").string());
  external("parent", InvalidInput, "../w.bin");
  external("hidden_parent", InvalidInput, "data/../../w.bin");
  external("symlink", InvalidInput, "data/link.bin");
  external("symlinked_folder", InvalidInput, "link/w.bin");
  external("folder", InvalidInput, "data");
  external("missing", InvalidInput, "data/none.bin");
  external("nowhere", InvalidInput, "");
  external("beyond_end", InvalidInput, "data/w.bin", "8", "12");
  external("offset_beyond_end", InvalidInput, "data/w.bin", "4000000000000", "12");
  external("negative_offset", InvalidInput, "data/w.bin", "-4", "12");
  external("offset_overflow", InvalidInput, "data/w.bin", "99999999999999999999", "12");
  external("length_overflow", InvalidInput, "data/w.bin", "4", "9223372036854775807");
  external("zero_byte", InvalidInput, std::string("data/w.bin\0/../../w.bin", 23));
}

}  // namespace polyte::testing
