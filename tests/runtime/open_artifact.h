// A small artifact that leaves two sizes open, made by hand of the kernels in
// tests/runtime/kernels.c.
//
//   x f32[batch, 4], z f32[batch], p f32[seq], w f32[batch + 2*seq]
//   t = 2 * x + z                      in the arena
//   u = t's outer columns, p, a word   in the arena, 2*batch + seq + 1 elements
//   y = t, q = u, v = w                three copies
#pragma once

#include <functional>
#include <string>

#include "runtime/artifact.h"
#include "support/error.h"

namespace polyte::testing {

runtime::ArtifactParts open_artifact();

// What the action says when it is refused, "accepted" if it is not; another status is a failure.
std::string problem_of(const std::function<void()>& action,
                       ExitStatus status = ExitStatus::Artifact);

}  // namespace polyte::testing
