// The control of one fibre, and the switches to it and back, by Boost.Context's jump: a dozen
// registers, where POSIX's swapcontext asks the system for the signal mask as well, twice a turn.
//
//   FibreControl control;
//   control.begin(stack, bytes, [](void* what) { ...; control.suspend(); ... }, &what);
//   control.resume();      // runs it until it suspends itself
//
// What runs on a fibre never returns: it suspends itself for the last time. A fibre may be given
// up wherever it is; nothing of its frames is unwound then, for frames of compiled kernels cannot
// be (boost::context::fiber would try, so this is the layer below it). AddressSanitizer is told of
// every switch; ThreadSanitizer sees none of the files that switch (CMakeLists.txt), for a fibre of
// its own takes it a fifth of a millisecond.
#pragma once

#include <boost/context/detail/fcontext.hpp>
#include <cstddef>

#if defined(POLYTE_ADDRESS_SANITIZER)
#include <sanitizer/asan_interface.h>
#endif

namespace polyte::runtime {

class FibreControl {
 public:
  FibreControl() = default;
  FibreControl(const FibreControl&) = delete;
  FibreControl& operator=(const FibreControl&) = delete;

  // Once: the first resume() enters `run` on that stack, whose lowest byte `stack` is.
  void begin(char* stack, std::size_t bytes, void (*run)(void*), void* argument) {
    stack_ = stack;
    bytes_ = bytes;
    run_ = run;
    argument_ = argument;
    here_ = boost::context::detail::make_fcontext(stack + bytes, bytes, enter);
#if defined(POLYTE_ADDRESS_SANITIZER)
    __asan_unpoison_memory_region(stack, bytes);  // frames of the one that was given up on it
#endif
  }

  // By whoever runs the fibre: goes on with it until it suspends itself.
  void resume() {
#if defined(POLYTE_ADDRESS_SANITIZER)
    void* frames = nullptr;
    __sanitizer_start_switch_fiber(&frames, stack_, bytes_);
#endif
    here_ = boost::context::detail::jump_fcontext(here_, this).fctx;
#if defined(POLYTE_ADDRESS_SANITIZER)
    __sanitizer_finish_switch_fiber(frames, nullptr, nullptr);
#endif
  }

  // By the fibre itself: goes on with whoever resumed it.
  void suspend() {
#if defined(POLYTE_ADDRESS_SANITIZER)
    void* frames = nullptr;
    __sanitizer_start_switch_fiber(&frames, resumer_stack_, resumer_bytes_);
#endif
    resumer_ = boost::context::detail::jump_fcontext(resumer_, nullptr).fctx;
#if defined(POLYTE_ADDRESS_SANITIZER)
    __sanitizer_finish_switch_fiber(frames, &resumer_stack_, &resumer_bytes_);
#endif
  }

 private:
  static void enter(boost::context::detail::transfer_t from) {
    FibreControl& self = *static_cast<FibreControl*>(from.data);
    self.resumer_ = from.fctx;
#if defined(POLYTE_ADDRESS_SANITIZER)
    __sanitizer_finish_switch_fiber(nullptr, &self.resumer_stack_, &self.resumer_bytes_);
#endif
    self.run_(self.argument_);
  }

  boost::context::detail::fcontext_t here_ = nullptr, resumer_ = nullptr;
  char* stack_ = nullptr;
  std::size_t bytes_ = 0;
  void (*run_)(void*) = nullptr;
  void* argument_ = nullptr;
#if defined(POLYTE_ADDRESS_SANITIZER)
  const void* resumer_stack_ = nullptr;
  std::size_t resumer_bytes_ = 0;
#endif
};

}  // namespace polyte::runtime
