// One directive of each kind for a Scene, mostly one that means something there. Those that return
// a list return all that fit; it may be empty.
#pragma once

#include <vector>

#include "driver/judge/fuzz/scene.h"

namespace polyte::fuzz::propose {

// Loops: split, ordered, mapped, merged (propose_loops.cc).
schedule::Operation split(Scene& scene);
schedule::Operation tile(Scene& scene);
schedule::Operation unroll(Scene& scene);
schedule::Operation distribute(Scene& scene);
schedule::Operation mapped(Scene& scene);
schedule::Operation order(Scene& scene);
schedule::Operation fuse(Scene& scene);
schedule::Operation merge(Scene& scene);
schedule::Operation another_order(Scene& scene);
schedule::Operation as_transaction(const schedule::Nest& nest);

// Where a statement is computed (propose_placement.cc).
schedule::Operation compute_at(Scene& scene);
schedule::Operation store_at(Scene& scene);
std::vector<schedule::Operation> recomputed(Scene& scene);
schedule::Operation reverse_compute_at(Scene& scene);
schedule::Operation place(Scene& scene);
schedule::Operation relocation(Scene& scene);

// Storage and hints (propose_storage.cc).
schedule::Stage whole(const std::string& tensor);
schedule::Operation stage(Scene& scene);
schedule::Operation storage(Scene& scene);
schedule::Reuse reuse(Scene& scene);
std::vector<schedule::Operation> views(Scene& scene);
schedule::Operation hint_or_tail(Scene& scene);
std::vector<schedule::Operation> recipe(Scene& scene);

// The loops of a GPU (propose_device.cc).
std::vector<schedule::Operation> device(Scene& scene);

// What changes the Program (propose_algebra.cc).
schedule::Operation algebra(Scene& scene);
schedule::Operation reassociated(Scene& scene);
std::vector<schedule::Operation> reciprocals(Scene& scene);
std::vector<schedule::Operation> deferrals(Scene& scene);
std::vector<schedule::Operation> online(Scene& scene);
std::vector<schedule::Operation> tensorized(Scene& scene);
std::vector<schedule::Operation> tiles(Scene& scene);

}  // namespace polyte::fuzz::propose
