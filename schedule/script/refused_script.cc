#include "schedule/script/refused_script.h"

#include <sstream>

#include "schedule/script/replay.h"

namespace polyte::schedule {
namespace {

// The refusal of the script as printed, which can name its line; the refusal of the scheduler's own
// data where the text is accepted or cannot be read.
Refusal refusal_of_text(const RefusedScript& refused,
                        const std::shared_ptr<const ir::Program>& program, const Machine& machine) {
  try {
    const Script script = parse_script(print(refused.script), refused.script.name);
    const auto state = replay(program, script, machine, {});
    return state ? refused.refusal : state.error();
  } catch (const UserError&) {
    return refused.refusal;
  }
}

}  // namespace

std::string print_refused(const RefusedScript& refused,
                          const std::shared_ptr<const ir::Program>& program,
                          const Machine& machine) {
  const Refusal refusal = refusal_of_text(refused, program, machine);
  std::string text = "# " + refused.what + "\n";
  std::istringstream lines(to_string(refusal, refused.script.name, ""));
  for (std::string line; std::getline(lines, line);) text += "#   " + line + "\n";
  return text + print(refused.script);
}

}  // namespace polyte::schedule
