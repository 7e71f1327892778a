#include "codegen/common/crash_guard.h"

#include <cerrno>
#include <mutex>

#include "support/system_error.h"

#include <llvm/Support/CrashRecoveryContext.h>
#include <llvm/Support/ErrorHandling.h>

#if defined(POLYTE_ADDRESS_SANITIZER)
// LLVM gives a thread per signal stack of its own; AddressSanitizer would unmap it as its own when
// the thread ends. What LLVM and lld hold when they crash is lost.
extern "C" const char* __asan_default_options();
extern "C" const char* __asan_default_options() { return "use_sigaltstack=0"; }
extern "C" const char* __lsan_default_suppressions();
extern "C" const char* __lsan_default_suppressions() { return "leak:libLLVM\nleak:lld::elf\n"; }
#endif

namespace polyte::codegen {
namespace {

thread_local std::string fatal_message;

// LLVM calls this where it would end the process; HandleExit leaves the guarded call instead, back
// to run_guarded.
void on_fatal_error(void*, const char* reason, bool) {
  fatal_message = reason;
  if (auto* context = llvm::CrashRecoveryContext::GetCurrent()) context->HandleExit(70);
}

void set_up_once() {
  static std::once_flag once;
  std::call_once(once, [] {
    llvm::CrashRecoveryContext::Enable();
    llvm::install_fatal_error_handler(on_fatal_error);
    llvm::install_bad_alloc_error_handler(on_fatal_error);
  });
}

// The texts of LLVM and lld tell a limit of the system from a fault of ours.
bool says_exhausted(const std::string& text) {
  for (const int error : {EDQUOT, EFBIG, EMFILE, ENFILE, ENOMEM, ENOSPC})
    if (text.find(text_of_errno(error)) != std::string::npos) return true;
  for (const char* words : {"out of memory", "Allocation failed", "Buffer allocation failed"})
    if (text.find(words) != std::string::npos) return true;
  return false;
}

}  // namespace

void check_exhaustion(const std::string& text) {
  if (says_exhausted(text)) throw UserError(ExitStatus::ResourceLimit, "LLVM: " + text);
}

std::optional<std::string> run_guarded(const std::function<void()>& work) {
  set_up_once();
  fatal_message.clear();
  llvm::CrashRecoveryContext context;
  // lld guards itself as well and returns as if nothing had happened: the message tells.
  if (context.RunSafely([&] { work(); }) && fatal_message.empty()) return std::nullopt;
  check_exhaustion(fatal_message);
  return fatal_message.empty() ? "it crashed" : fatal_message;
}

}  // namespace polyte::codegen
