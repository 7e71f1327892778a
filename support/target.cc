#include "support/target.h"

namespace polyte {

std::string to_string(TargetKind kind) {
  switch (kind) {
    case TargetKind::X86:
      return "x86_64";
    case TargetKind::AArch64:
      return "aarch64";
    case TargetKind::Cuda:
      return "cuda";
  }
  return {};
}

}  // namespace polyte
