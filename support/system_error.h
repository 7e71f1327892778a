// What the system says when it refuses, as an exit status: memory, descriptors, threads, space and
// quotas that have run out are limits (5), whatever the call was for; all else is the fault of what
// was asked for, which the caller knows.
//
//   if (fd < 0)
//     throw UserError(status_of_errno(errno, ExitStatus::InvalidInput),
//                     "file 'x': " + text_of_errno(errno));
#pragma once

#include <string>

#include "support/error.h"

namespace polyte {

bool is_exhaustion(int error_number);
ExitStatus status_of_errno(int error_number, ExitStatus otherwise);
std::string text_of_errno(int error_number);  // "no space left on device"

}  // namespace polyte
