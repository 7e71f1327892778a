// Writes the hostile models and a list of what each must give: "<file> <exit status>", a line
// per model.
#include <fstream>
#include <iostream>

#include "tests/frontend/hostile_models.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: polyte_hostile_models DIR\n";
    return 2;
  }
  const std::filesystem::path folder = argv[1];
  std::filesystem::create_directories(folder);
  std::ofstream list(folder / "expected.txt");
  for (const auto& model : polyte::testing::write_hostile_models(folder)) {
    list << model.name << ".onnx " << static_cast<int>(model.expected) << '\n';
  }
  return list ? 0 : 1;
}
