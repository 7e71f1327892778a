// polyte: the one binary. The verbs are listed below, one file each; errors become messages and exit statuses here
// and nowhere else.
#include <cstdio>
#include <iostream>

#include "driver/cli/cli.h"
#include "driver/cli/reproducer.h"
#include "support/error.h"

namespace polyte::cli {
namespace {

constexpr AddVerb kVerbs[] = {
    add_compile, add_op,          add_run,  add_bench, add_inspect, add_check,  add_interpret,
    add_compare, add_conformance, add_fuzz, add_ops,   add_options, add_doctor,
};

int run(int argc, char** argv) {
  CLI::App app("Polyte: a tensor compiler with two schedulers and one schedule language", "polyte");
  app.require_subcommand(1);
  app.set_version_flag("--version", "polyte 0.1.0");
  int status = 0;
  for (AddVerb add : kVerbs) add(app, status);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp& e) {
    return app.exit(e);
  } catch (const CLI::CallForAllHelp& e) {
    return app.exit(e);
  } catch (const CLI::CallForVersion& e) {
    return app.exit(e);
  } catch (const CLI::ParseError& e) {
    std::cerr << usage_message(app, e) << "\n";
    return static_cast<int>(ExitStatus::Usage);
  }
  return status;
}

}  // namespace
}  // namespace polyte::cli

namespace {

int internal_error(int argc, char** argv, const std::string& message) {
  const std::string folder = polyte::cli::write_reproducer({argv + 1, argv + argc}, message);
  std::cerr << "internal error: " << message << "\n  reproducer: " << folder << "\n";
  return static_cast<int>(polyte::ExitStatus::Internal);
}

}  // namespace

int main(int argc, char** argv) {
  using polyte::ExitStatus;
  try {
    return polyte::cli::run(argc, argv);
  } catch (const polyte::UserError& e) {
    std::cerr << e.what() << "\n";
    return static_cast<int>(e.status());
  } catch (const std::bad_alloc&) {
    std::cerr << "out of memory\n";
    return static_cast<int>(ExitStatus::ResourceLimit);
  } catch (const std::exception& e) {
    return internal_error(argc, argv, e.what());
  }
}
