// LLVM and lld end the process on what they cannot do (report_fatal_error, a corrupt object).
// run_guarded() runs such a call and comes back with the message instead. The work inside must not
// throw and must own nothing that may not leak: after a failure its stack is abandoned. What failed
// for want of memory, descriptors or space is UserError(ResourceLimit).
#pragma once

#include <functional>
#include <optional>
#include <string>

namespace polyte::codegen {

// The failure's text, or nothing when `work` ended well.
std::optional<std::string> run_guarded(const std::function<void()>& work);
// The same for a text in which LLVM or lld say why they failed: returns where something else
// was the reason.
void check_exhaustion(const std::string& text);

}  // namespace polyte::codegen
