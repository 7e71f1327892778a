// Session: an artifact made ready to run: kernels loaded, arena and scratch reserved, threads started.
//
//   Session session(Artifact::open("digits.polyte"), {.threads = 2});
//   session.run({x.view()}, {y.view()});            // on the caller's buffers
//
// `run` may be called from several threads at once: each run has its own arena and scratch, kept for the next; a
// run allocates nothing once as many runs have been in flight before. Results do not depend on the number of
// threads' timing. A processor without the needed features is refused by the constructor (UserError(Artifact)).
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <vector>

#include "runtime/artifact.h"
#include "runtime/run_profile.h"
#include "runtime/tensor.h"
#include "runtime/thread_pool.h"

namespace polyte::runtime {

struct SessionOptions {
  int threads = 0;  // 0: as many as processors
};

class Session {
 public:
  explicit Session(std::shared_ptr<const Artifact> artifact, SessionOptions options = {});
  ~Session();
  Session(Session&&) noexcept;
  Session& operator=(Session&&) = delete;

  const std::vector<TensorSpec>& inputs() const;
  const std::vector<TensorSpec>& outputs() const;
  const std::vector<StepSpec>& steps() const;
  const Artifact& artifact() const;
  int threads() const;

  // Tensors in the order of inputs() and outputs(), type and shape exactly theirs; outputs must not overlap
  // inputs or each other. All problems of the arguments are listed at once (UserError(InvalidInput)).
  void run(std::span<const TensorView> inputs, std::span<const TensorView> outputs) const;
  void run(std::initializer_list<TensorView> inputs, std::initializer_list<TensorView> outputs) const;
  std::vector<Tensor> run(std::span<const Tensor> inputs) const;  // allocates the outputs
  // The same run, with the time of every step and of every worker's part.
  RunProfile profile(std::span<const TensorView> inputs, std::span<const TensorView> outputs) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace polyte::runtime
