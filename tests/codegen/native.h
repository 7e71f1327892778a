// Runs LoopPrograms natively for the tests: compile, link, open from a memory file, call.
// Every buffer ends right before an unreadable page, so that a lane that touches too much ends
// the process.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "codegen/codegen.h"
#include "ir/interpret.h"
#include "support/kernel_abi.h"

namespace polyte::codegen::testing {

// A shared object loaded from memory.
class Library {
 public:
  explicit Library(const std::string& bytes);
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
  ~Library();
  polyte_kernel kernel(const std::string& name) const;

 private:
  void* handle_;
};

// The CPUs whose code this machine can run: the host, and the generic levels of x86-64 up to it.
std::vector<Target> runnable_targets();

struct RunOptions {
  Target target = detect_host();
  CodegenOptions codegen = {};
  bool aligned = false;  // buffers at multiples of 64, and the kernel told so
  const polyte_host* host = nullptr;
  int workers = 1;
  ir::Values sizes = {};  // of the program's parameters
};

// Out buffers are created (zeros) unless they are there.
void run_native(const ir::LoopProgram& program, ir::Environment& buffers,
                const RunOptions& options = {});

// One line a difference (at most five), empty if the buffers of the program agree bit for bit
// (any NaN equals any).
std::string differences(const ir::LoopProgram& program, const ir::Environment& expected,
                        const ir::Environment& got);

// Runs text natively and by the interpreter from the same inputs; the differences.
std::string against_interpreter(const ir::LoopProgram& program, const ir::Environment& inputs,
                                const RunOptions& options = {});
std::string against_interpreter(const std::string& text, const ir::Environment& inputs,
                                const RunOptions& options = {});

// The same for every target of runnable_targets(), aligned and not, as checks.
void check_everywhere(const std::string& text, const ir::Environment& inputs);
// Every `from` in the text, as a template's T[.
std::string replaced(std::string text, const std::string& from, const std::string& to);
inline constexpr DType kTypes[] = {DType::F64, DType::F32, DType::F16, DType::BF16, DType::I8,
                                   DType::I16, DType::I32, DType::I64, DType::U8,   DType::U16,
                                   DType::U32, DType::U64, DType::Bool};

ir::Contents zeros(DType type, std::vector<std::int64_t> shape);
ir::Contents filled(DType type, std::vector<std::int64_t> shape,
                    unsigned seed);  // small integers, fractions for floats
ir::Contents of_values(DType type, const std::vector<double>& values);
double value_at(const ir::Contents& contents, std::int64_t position);

}  // namespace polyte::codegen::testing
