// What is said of a script that is refused, in one word: by the API, and by the verbs.
#pragma once

#include <string>

#include "schedule/state/refusal.h"

namespace polyte::api {

inline std::string verdict_of(const schedule::Refusal& refusal) {
  switch (refusal.kind) {
    case schedule::RefusalKind::Malformed:
      return "malformed";
    case schedule::RefusalKind::Stale:
      return "stale";
    case schedule::RefusalKind::Illegal:
      return "illegal";
    case schedule::RefusalKind::Unknown:
    case schedule::RefusalKind::Conservative:
      break;
  }
  return "unknown";
}

}  // namespace polyte::api
