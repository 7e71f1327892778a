#include "codegen/crash_guard.h"

#include <mutex>

#include <llvm/Support/CrashRecoveryContext.h>
#include <llvm/Support/ErrorHandling.h>

#if defined(__SANITIZE_ADDRESS__)
// LLVM gives a thread a signal stack of its own; AddressSanitizer would unmap it as its own when the thread ends. What
// LLVM holds when it crashes is lost.
extern "C" const char* __asan_default_options();
extern "C" const char* __asan_default_options() { return "use_sigaltstack=0"; }
extern "C" const char* __lsan_default_suppressions();
extern "C" const char* __lsan_default_suppressions() { return "leak:libLLVM"; }
#endif

namespace polyte::codegen {
namespace {

thread_local std::string fatal_message;

void on_fatal_error(void*, const char* reason, bool) {
  fatal_message = reason;
  if (auto* context = llvm::CrashRecoveryContext::GetCurrent()) context->HandleExit(70);
}

void set_up_once() {
  static std::once_flag once;
  std::call_once(once, [] {
    llvm::CrashRecoveryContext::Enable();
    llvm::install_fatal_error_handler(on_fatal_error);
  });
}

}  // namespace

std::optional<std::string> run_guarded(const std::function<void()>& work) {
  set_up_once();
  fatal_message.clear();
  llvm::CrashRecoveryContext context;
  if (context.RunSafely([&] { work(); })) return std::nullopt;
  return fatal_message.empty() ? "it crashed" : fatal_message;
}

}  // namespace polyte::codegen
