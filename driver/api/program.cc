#include "driver/api/guard.h"
#include "ir/einsum_notation.h"
#include "ir/program_text.h"

namespace polyte::api {
namespace {

Program wrap(ir::Program program) {
  return Program(std::make_shared<const ir::Program>(std::move(program)));
}

}  // namespace

Failure to_failure(std::exception_ptr error) noexcept {
  // From special to general: a bad_alloc is a std::exception as well, but no fault of ours.
  try {
    std::rethrow_exception(error);
  } catch (const UserError& e) {
    return {e.status(), e.problems()};
  } catch (const std::bad_alloc&) {
    return {ExitStatus::ResourceLimit, {"out of memory"}};
  } catch (const std::exception& e) {
    return {ExitStatus::Internal, {std::string("internal error: ") + e.what()}};
  } catch (...) {
    return {ExitStatus::Internal, {"internal error: an exception of unknown type"}};
  }
}

std::string Program::text() const { return ir::print(*program_); }

Outcome<Program> parse_program(std::string_view text, const std::string& origin) {
  return guarded([&] { return wrap(ir::parse_program(text, origin)); });
}

Outcome<Program> parse_notation(std::string_view text, DType dtype) {
  return guarded([&] {
    if (const std::string meant = ir::index_notation_of_einsum(std::string(text)); !meant.empty())
      throw UserError(ExitStatus::InvalidInput,
                      "'" + std::string(text) + "' is einsum notation, expected index notation: '" +
                          meant + "'");
    return wrap(ir::parse_index_notation(text, dtype));
  });
}

Outcome<Program> build_program(const std::string& name, const std::vector<std::string>& params,
                               const std::function<void(ir::ProgramBuilder&)>& write) {
  return guarded([&] {
    ir::ProgramBuilder builder(name, params);
    write(builder);
    return wrap(builder.build());
  });
}

}  // namespace polyte::api
