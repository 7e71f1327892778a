// LLVM and lld end the process on what they cannot do (report_fatal_error, a corrupt object). run_guarded()
// runs such a call and comes back with the message instead. The work inside must not throw and must own nothing
// that may not leak: after a failure its stack is abandoned.
#pragma once

#include <functional>
#include <optional>
#include <string>

namespace polyte::codegen {

// The failure's text, or nothing when `work` ended well.
std::optional<std::string> run_guarded(const std::function<void()>& work);

}  // namespace polyte::codegen
