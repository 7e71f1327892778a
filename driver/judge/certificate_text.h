// A certificate as JSON text: what `check --certificate` writes and tools/verify_certificate reads
// (docs/certificate.md).
#pragma once

#include <string>

#include "schedule/state/state.h"

namespace polyte::driver {

std::string certificate_text(const schedule::State& state);

}  // namespace polyte::driver
