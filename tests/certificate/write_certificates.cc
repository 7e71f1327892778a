// write_certificates FOLDER: the certificates of all labelled schedules of tests/legality/cases.
// FOLDER/legal: those that are right, at their first sizes; FOLDER/illegal: those that are wrong,
// at all their sizes, replayed without a proof.
#include <filesystem>
#include <fstream>
#include <iostream>

#include "driver/judge/certificate_text.h"
#include "ir/program_text.h"
#include "schedule/script/replay.h"
#include "tests/legality/legality_cases.h"

namespace polyte::legality {
namespace {

namespace fs = std::filesystem;

Machine test_machine() {
  Machine machine;
  machine.cpu = "test";
  machine.vector_bits = 128;
  machine.vector_registers = 32;
  machine.cores = 2;
  return machine;
}

// False where the script is refused.
bool write_case(const LegalityCase& c, std::size_t size, const fs::path& folder) {
  const bool legal = c.label == Label::Legal;
  const auto program = std::make_shared<const ir::Program>(
      ir::bind(ir::parse_program(c.program, c.file), c.sizes.at(size)));
  const schedule::Script script = schedule::parse_script(
      "schedule s/1 for " + program->name + " f32 " + c.contract + "\n" + c.script, c.file);
  const auto level = legal ? schedule::ProofLevel::Full : schedule::ProofLevel::Off;
  const auto state =
      schedule::replay(program, script, test_machine(), {.proof = level, .on_applied = {}});
  if (!state) return false;
  const fs::path to = folder / (legal ? "legal" : "illegal");
  fs::create_directories(to);
  std::ofstream(to / (fs::path(c.file).stem().string() + "_" + std::to_string(c.line) + "_at_" +
                      std::to_string(size) + ".json"))
      << driver::certificate_text(*state);
  return true;
}

int write_cases(const fs::path& folder) {
  int written = 0, refused = 0;
  for (const LegalityCase& c : read_cases("tests/legality/cases")) {
    if (c.label != Label::Legal && c.label != Label::Illegal) continue;
    const std::size_t sizes = c.label == Label::Legal ? 1 : c.sizes.size();
    for (std::size_t size = 0; size < sizes; ++size)
      ++(write_case(c, size, folder) ? written : refused);
  }
  std::cout << written << " certificates written, " << refused << " scripts refused\n";
  return written > 0 ? 0 : 1;
}

}  // namespace
}  // namespace polyte::legality

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: write_certificates FOLDER\n";
    return 2;
  }
  return polyte::legality::write_cases(argv[1]);
}
