#include "driver/cli/pass_files.h"

#include <algorithm>

#include "driver/cli/output_files.h"
#include "lower/pass_list.h"

namespace polyte::cli {

PassFiles::PassFiles(std::string option, std::string folder, std::vector<std::string> inputs)
    : option_(std::move(option)), folder_(std::move(folder)), inputs_(std::move(inputs)) {}

void PassFiles::write(const std::string& name, const std::string& text) const {
  if (folder_.empty()) return;
  const std::string path = folder_ + "/" + name;
  check_output_file(option_ + ": " + path, path, inputs_);
  write_file(path, text);
}

std::string numbered(std::size_t number, const std::string& pass) {
  std::string text = (number < 10 ? "0" : "") + std::to_string(number) + "-" + pass;
  std::ranges::replace(text, ' ', '-');
  return text;
}

// The passes are run again, on the kernel's State: what is written is what each of them gives.
void dump_passes(const PassFiles& files, const driver::BuiltKernel& kernel,
                 const Machine& machine) {
  const std::string& name = kernel.program->name;
  lower::PassContext context{.machine = machine, .state = kernel.state.get()};
  ir::LoopProgram program;
  std::size_t number = 0;
  for (const lower::Pass& pass : lower::pass_list_of(machine)) {
    program = pass.run(program, context);
    files.write(name + "." + numbered(++number, pass.name) + ".loops", ir::print(program));
  }
}

}  // namespace polyte::cli
