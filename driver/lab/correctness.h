// Whether an arm computes what the Program says, before anything of it is timed: at the row's sizes
// against a reference that is not the arm, and at small sizes against the interpreter.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "driver/lab/contender.h"

namespace polyte::lab {

// Outputs at the row's sizes by the reference: C whose order is kept, by any compiler that is
// installed, of a model onnxruntime, else the arm `naive`; `name` says which. Of a GPU's arms,
// where there is no compiler or the Program is more than one thread does at once: Polyte's poly
// on all of this processor, its order kept. `contender`: what computes it, to do so once more of
// inputs that are moved in their last bits. Elements that move far with them, in another way each
// time, are rounding alone (a matrix that has no inverse), and no schedule's are held to them.
struct Reference {
  std::string name;  // empty: there is none, `problem` says why
  std::string problem;
  std::vector<runtime::Tensor> tensors;
  std::shared_ptr<Contender> contender = {};
};
Reference make_reference(const Workshop& workshop);

struct Verdict {
  bool right = true;
  std::string text;           // "same bits as the reference", "within 0.0001 of ..", "differs: .."
  std::string left_out = {};  // "1200 of 4800 elements of 'Q'": rounding alone
};
// The interface after one execution on fresh tensors; what it has written, in a few characters; and
// against a reference.
std::vector<runtime::Tensor> run_once(const Workshop& workshop, Contender& contender);
std::string digest_of_outputs(const Interface& interface,
                              const std::vector<runtime::Tensor>& tensors);
Verdict check_real(const Workshop& workshop, const std::vector<runtime::Tensor>& got,
                   const Reference& reference);

// The same Program at sizes that the interpreter runs at once; null, and why, where there are none.
struct SmallProgram {
  std::shared_ptr<const ir::Program> program;
  std::string sizes, problem;  // "M=5 N=6"
  ir::Environment inputs, expected;
};
SmallProgram make_small(const Workshop& workshop);
Verdict check_small(const Workshop& workshop, const PlannedArm& arm, const SmallProgram& small);
// Made for `small`.
Verdict check_small(const Workshop& workshop, Contender& contender, const SmallProgram& small);

}  // namespace polyte::lab
