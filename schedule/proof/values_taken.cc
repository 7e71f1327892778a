#include <isl/map.h>
#include <isl/union_map.h>

#include <algorithm>

#include "schedule/proof/correspondence.h"
#include "schedule/proof/prover_impl.h"
#include "schedule/proof/source_finder.h"

namespace polyte::schedule {
namespace {

bool is_exact(const IslModel& model, const std::string& tensor) {
  return std::ranges::all_of(model.statements, [&](const IslStatement& s) {
    return std::ranges::all_of(s.accesses, [&](const IslAccess& access) {
      return access.exact || model.buffers[static_cast<std::size_t>(access.buffer)].of != tensor;
    });
  });
}

}  // namespace

bool takes_values(const Basis& basis, const std::string& tensor, const ValueEnds& ends) {
  const IslModel& model = basis.model;
  // A read whose cell is not known may take anything.
  if (!is_exact(model, tensor)) return true;
  const auto name_of = [&](int statement) {
    return model.statements[static_cast<std::size_t>(statement)].statement->body.name;
  };
  SourceFinder finder(model);
  bool found = false;
  for (int i = 0; i < static_cast<int>(model.statements.size()); ++i) {
    if (!ends.readers.contains(name_of(i))) continue;
    for (const Sink& sink : reads_of(model, i, tensor))
      finder.sources(sink).foreach_map([&](isl::map pairs) {
        const std::string source = isl_map_get_tuple_name(pairs.get(), isl_dim_out);
        if (source[0] == 'S' && ends.writers.contains(name_of(statement_of_tuple(source.c_str()))))
          found = found || !pairs.is_empty();
      });
  }
  return found;
}

}  // namespace polyte::schedule
