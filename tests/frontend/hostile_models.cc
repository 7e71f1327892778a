#include "tests/frontend/hostile_models.h"

#include "tests/frontend/hostile/families.h"
#include "tests/frontend/hostile/writer.h"

namespace polyte::testing {

std::vector<HostileModel> write_hostile_models(const std::filesystem::path& folder) {
  HostileWriter writer(folder);
  write_damaged_files(writer);
  write_headers(writer);
  write_functions(writer);
  write_wiring(writer);
  write_sizes(writer);
  write_external(writer);
  write_attributes(writer);
  write_operands(writer);
  write_branches(writer);
  write_resizes(writer);
  write_einsums(writer);
  write_indexing(writer);
  write_top_k(writer);
  write_composed(writer);
  return std::move(writer.models);
}

}  // namespace polyte::testing
