// Edits of the storage that there is: buffers by name, their dimensions, and the accesses to them.
#pragma once

#include "schedule/script/primitives/edit.h"

namespace polyte::schedule {

// The one buffer that a name means: its own, or the only one that holds elements of the tensor.
Result<std::size_t, Refusal> the_buffer(const State& state, const std::string& name);
// The place of a dimension by name (`u`, `n.i` of a layout).
Result<std::size_t, Refusal> the_dimension(const StagedBuffer& buffer, const std::string& name);
std::vector<std::string> users_of(const State& state, const std::string& buffer);

using IndexEdit =
    std::function<std::vector<ir::Index>(const ScheduledStatement&, std::vector<ir::Index>)>;
// Every access to the buffer, reads and writes; guards of reads stay.
void edit_accesses(State& state, const std::string& buffer, const IndexEdit& edit);

// Coordinates of the dimension this far apart share a place.
void fold_dimension(State& state, std::size_t buffer, std::size_t dimension, std::int64_t factor);

// Bounds, sources and races of what the buffer holds, after an edit of its shape or accesses.
std::optional<Refusal> check_buffer(const State& state, const StagedBuffer& buffer,
                                    const PrimitiveContext& context);
// The same for a fold: a refusal says so and, where some factor works, the least one.
std::optional<Refusal> check_fold(const State& state, const State& unfolded, std::size_t buffer,
                                  std::size_t dimension, std::int64_t factor,
                                  const PrimitiveContext& context);

}  // namespace polyte::schedule
