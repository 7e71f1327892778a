// Every hostile model gets its exit status, in words that name the file and hold
// no control characters.
#include <doctest/doctest.h>
#include "frontend/onnx_import.h"
#include "tests/frontend/hostile_models.h"
#include "tests/frontend/temporary_folder.h"

using namespace polyte;

namespace {

bool is_plain(const std::string& text) {
  for (char c : text) {
    if (static_cast<unsigned char>(c) < 0x20 && c != '\n') return false;
  }
  return true;
}

}  // namespace

TEST_CASE("hostile models: every one gets its exit status") {
  const testing::TemporaryFolder folder;
  const auto models = testing::write_hostile_models(folder.path);
  CHECK(models.size() >= 150);
  for (const auto& model : models) {
    CAPTURE(model.name);
    ExitStatus status = ExitStatus::Success;
    std::string message;
    try {
      frontend::import_onnx(folder.path / (model.name + ".onnx"));
    } catch (const UserError& error) {
      status = error.status();
      message = error.what();
    }
    CAPTURE(message);
    CHECK(static_cast<int>(status) == static_cast<int>(model.expected));
    if (status == ExitStatus::Success) continue;
    CHECK(message.find(std::filesystem::path(model.name).filename().string() + ".onnx: ") !=
          std::string::npos);
    CHECK(is_plain(message));
  }
}
