// What the schedulers write and what lower makes of it, frozen: script, nest and loops of every
// Program of the suites and examples by poly, isl and template, of every example schedule, and of
// networks, each as three digests (README.md). POLYTE_BLESS=1 rewrites digests.txt; POLYTE_DUMP=DIR
// writes the texts, so that those of two builds can be compared by diff -r.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <vector>

#include "driver/compile/import_network.h"
#include "driver/compile/model.h"
#include "runtime/artifact.h"
#include "schedule/script/script.h"
#include "tests/golden/programs.h"

namespace polyte::driver {
namespace {

namespace fs = std::filesystem;
using testing::files_in, testing::NamedProgram, testing::read_file, testing::unproved;

constexpr const char* kDigests = "tests/golden/digests.txt";

std::string digest(const std::string& text) {
  return runtime::digest_of(std::as_bytes(std::span(text))).substr(0, 12);
}

// A processor as it is described, whatever this machine is.
Machine machine_of(const std::string& cpu) {
  Machine machine = codegen::target_for_cpu(cpu).machine;
  machine.cores = 2;
  return machine;
}

struct Texts {
  std::string script, nest, loops;
  void add(const BuiltKernel& kernel) {
    script += schedule::print(kernel.script) +
              (kernel.declined ? "declined: " + kernel.declined->reason + "\n" : "");
    nest += schedule::print_nests(kernel.state->tree);
    loops += ir::print(kernel.kernel.program);
  }
};

// The file, what this build makes, and where texts go that a person wants to see.
class Golden {
 public:
  Golden() {
    std::ifstream file(kDigests);
    for (std::string line; std::getline(file, line);)
      if (const std::size_t end = line.find(" = "); end != std::string::npos)
        known_[line.substr(0, end)] = line.substr(end + 3);
    if (const char* folder = std::getenv("POLYTE_DUMP")) dump_ = folder;
  }

  // `what` is "suite/gemm_odd znver4 poly"; a UserError of `make` is part of what is frozen.
  template <class F>
  void check(const std::string& what, F make) {
    Texts texts;
    try {
      make(texts);
    } catch (const UserError& error) {
      texts.script += std::string("refused: ") + error.what() + "\n";
    }
    const std::string found =
        digest(texts.script) + " " + digest(texts.nest) + " " + digest(texts.loops);
    if (!dump_.empty()) dump(what, texts);
    made_[what] = found;
    if (is_blessing()) return;
    CAPTURE(what);
    const auto expected = known_.find(what);
    if (expected == known_.end()) {
      FAIL_CHECK("digests.txt does not have it");
    } else {
      CHECK_MESSAGE(found == expected->second, "script, nest, loops (POLYTE_DUMP=DIR shows them)");
    }
  }

  // Lines of networks that are not on this machine stay as they are.
  void finish() {
    if (!is_blessing()) return;
    for (const auto& [what, digests] : made_) known_[what] = digests;
    std::ofstream file(kDigests);
    for (const auto& [what, digests] : known_) file << what << " = " << digests << "\n";
  }

 private:
  std::map<std::string, std::string> known_, made_;
  fs::path dump_;

  static bool is_blessing() { return std::getenv("POLYTE_BLESS") != nullptr; }

  void dump(const std::string& what, const Texts& texts) const {
    std::string name = what;
    std::ranges::replace(name, ' ', '.');
    const fs::path place = dump_ / name;
    fs::create_directories(place.parent_path());
    std::ofstream(place.string() + ".sched") << texts.script;
    std::ofstream(place.string() + ".nest") << texts.nest;
    std::ofstream(place.string() + ".loops") << texts.loops;
  }
};

const std::vector<std::string> kCpus = {"haswell", "znver4"};

}  // namespace

TEST_CASE("scripts, nests and loops are what they were") {
  Golden golden;
  const std::vector<NamedProgram> all =
      testing::programs_in({"bench/suites", "examples/programs", "examples/schedules"}, {24, 67});
  REQUIRE(all.size() > 80);
  for (const NamedProgram& program : all)
    for (const std::string& cpu : kCpus)
      for (const Scheduler scheduler : {Scheduler::Poly, Scheduler::Isl, Scheduler::Template})
        golden.check(program.name + " " + cpu + " " + to_string(scheduler), [&](Texts& texts) {
          texts.add(build_kernel(program.program, machine_of(cpu), unproved(scheduler)));
        });
  for (const fs::path& file : files_in("examples/schedules", ".sched")) {
    const schedule::Script script = schedule::parse_script(read_file(file), file.string());
    for (const NamedProgram& program : all)
      if (program.program->name == script.program)
        golden.check(program.name + " znver4 " + file.stem().string(), [&](Texts& texts) {
          KernelOptions options = unproved(Scheduler::Script);
          options.script = &script;
          options.script_origin = file.filename().string();
          texts.add(build_kernel(program.program, machine_of("znver4"), options));
        });
  }
  std::vector<fs::path> networks = files_in("examples/digits", ".onnx");
  for (const fs::path& file : files_in("build/models", ".onnx")) networks.push_back(file);
  for (const fs::path& file : networks)
    for (const Scheduler scheduler : {Scheduler::Poly, Scheduler::Template})
      golden.check("networks/" + file.stem().string() + " znver4 " + to_string(scheduler),
                   [&](Texts& texts) {
                     ModelOptions options;
                     options.scheduler = scheduler;
                     options.proof = schedule::ProofLevel::Off;
                     options.second_judge = false;
                     const ScheduledModel model =
                         schedule_model(import_network(file, {}).network,
                                        {.machine = machine_of("znver4")}, options);
                     for (const BuiltKernel& kernel : model.kernels) texts.add(kernel);
                   });
  golden.finish();
}

}  // namespace polyte::driver
