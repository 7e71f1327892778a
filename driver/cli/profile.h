// run --profile and --trace: where the time of a run went, as a table of kernels and as a trace.
#pragma once

#include <string>

#include "driver/cli/verb.h"
#include "runtime/session.h"

namespace polyte::cli {

struct ProfileOptions {
  bool table = false;
  std::string trace;  // file; empty: none
  bool is_wanted() const { return table || !trace.empty(); }
};
void add_profile_options(const Verb& verb, ProfileOptions& options);

// The table goes to stderr, the trace to its file.
void report_profile(const runtime::Session& session, const runtime::RunProfile& profile,
                    const ProfileOptions& options);

}  // namespace polyte::cli
