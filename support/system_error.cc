#include "support/system_error.h"

#include <cerrno>
#include <system_error>

namespace polyte {

bool is_exhaustion(int error_number) {
  switch (error_number) {
    case EAGAIN:  // a thread more
    case EDQUOT:
    case EFBIG:
    case EMFILE:
    case ENFILE:
    case ENOBUFS:
    case ENOMEM:
    case ENOSPC:
      return true;
    default:
      return false;
  }
}

ExitStatus status_of_errno(int error_number, ExitStatus otherwise) {
  return is_exhaustion(error_number) ? ExitStatus::ResourceLimit : otherwise;
}

// Unlike strerror's, its text belongs to no other thread.
std::string text_of_errno(int error_number) {
  return std::generic_category().message(error_number);
}

}  // namespace polyte
