// One statement as operations on whole arrays (array_form.h).
#pragma once

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

#include "ir/program.h"

namespace polyte::lab {

// Why a Program has no form; caught in array_form().
struct NoForm {
  std::string reason;
};

// Numbers of values, one after another through the whole Program.
class ValueIds {
 public:
  int next() { return next_++; }

 private:
  int next_ = 0;
};

// Whether `init` writes the identity to all that `update` updates, and to nothing else.
bool is_initialised_by(const ir::Statement& update, const ir::Statement& init);

// `fresh`: what an update updates holds the identity. Throws NoForm.
std::vector<nlohmann::ordered_json> statement_steps(const ir::Program& program,
                                                    const ir::Statement& statement, bool fresh,
                                                    ValueIds& ids);

}  // namespace polyte::lab
