// polyte: the one binary. The verbs are listed below, one file each; errors become messages and
// exit statuses here and nowhere else, but for a wrong command line (verb.cc).
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <iostream>
#include <optional>
#include <system_error>

#include "driver/cli/cli.h"
#include "driver/cli/out_of_memory.h"
#include "driver/cli/plain_stream.h"
#include "driver/cli/reproducer.h"
#include "support/system_error.h"

namespace polyte::cli {
namespace {

std::vector<AddVerb> verbs() {
  return {add_compile,   add_op,         add_run,         add_bench, add_inspect,   add_check,
          add_interpret, add_compare,    add_conformance, add_fuzz,  add_ops,       add_options,
          add_doctor,    add_keygen,     add_sign,        add_opt,   add_templates, add_complete,
          add_deps,      add_prove,      add_lab,         add_diff,  add_cache,     add_suites,
          add_help,      add_completion, add_profile};
}

int internal_error(int argc, char** argv, const std::string& message) {
  const std::string folder = write_reproducer({argv + 1, argv + argc}, message);
  std::cerr << "internal error: " << message << "\n  reproducer: " << folder << "\n";
  return static_cast<int>(ExitStatus::Internal);
}

// A standard file that is closed would be the number of the next file opened, which would then
// hold our messages.
void occupy_standard_files() {
  for (const int number : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (fcntl(number, F_GETFD) < 0) open("/dev/null", number == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

// Results that did not arrive are an error, whichever verb wrote them.
void check_stdout() {
  std::cout.flush();
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0 && std::cout) return;
  throw UserError(ExitStatus::ResourceLimit,
                  "stdout: the results cannot be written (a full disk, or a closed stream)");
}

}  // namespace
}  // namespace polyte::cli

int main(int argc, char** argv) {
  using namespace polyte;
  cli::occupy_standard_files();
  cli::end_with_words_without_memory();
  std::optional<cli::PlainStream> plain, plain_results;
  try {
    plain.emplace(std::cerr);
    if (isatty(STDOUT_FILENO) != 0) plain_results.emplace(std::cout);  // elsewhere it is data
    const int status = cli::run_command_line(argc, argv, cli::verbs());
    cli::check_stdout();
    return status;
  } catch (const UserError& e) {
    std::cerr << e.what() << "\n";
    return static_cast<int>(e.status());
  } catch (const std::system_error& e) {
    if (!is_exhaustion(e.code().value())) return cli::internal_error(argc, argv, e.what());
    std::cerr << "the system gives no more: " << e.what() << "\n";
    return static_cast<int>(ExitStatus::ResourceLimit);
  } catch (const std::bad_alloc&) {
    std::cerr << "out of memory\n";
    return static_cast<int>(ExitStatus::ResourceLimit);
  } catch (const std::exception& e) {
    return cli::internal_error(argc, argv, e.what());
  }
}
