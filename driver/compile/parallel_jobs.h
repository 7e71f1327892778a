// Runs n independent jobs on a few threads. Every job runs; the first failure by number
// (not by time) is thrown. Where the system gives fewer threads, or none, those there are and the
// caller do all jobs.
#pragma once

#include <functional>

namespace polyte::driver {

void run_jobs(int jobs, std::size_t count, const std::function<void(std::size_t)>& job);
int default_jobs();

}  // namespace polyte::driver
