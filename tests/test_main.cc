// The one main() of every test binary. Both names: the header may have been read before, precompiled.
#define DOCTEST_CONFIG_IMPLEMENT
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

// What builds with sanitizers ask for. The emulator knows a thread's own memory by its stack, so locals have to be
// there. LLVM and lld leave what they had when they stop at an error: they mean to end the process.
extern "C" const char* __asan_default_options() { return "detect_stack_use_after_return=0"; }     // NOLINT
extern "C" const char* __lsan_default_suppressions() { return "leak:libLLVM\nleak:lld::elf\n"; }  // NOLINT
