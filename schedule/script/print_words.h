// How the parts of a directive print.
#pragma once

#include <string>
#include <vector>

#include "schedule/script/script_text.h"

namespace polyte::schedule {

std::string list(const std::vector<std::string>& items, const std::string& separator = ", ");
std::string list(const std::vector<Size>& sizes);
std::string selector(const std::string& statement);        // "acc: " or nothing
std::string spaced(const LoopName& loop);                  // "acc: k"
std::string parts(const std::vector<std::string>& names);  // " as lo, hi" or nothing
std::string named(const std::string& name);                // " as x" or nothing
std::string print(Tail tail);
std::string tail_text(Tail tail);
std::string print_per(const std::string& loop);  // " once per t" or nothing
// The part that repeats in `split m by 4, n by 8   tail cut`.
std::string split_item(const Split& split);
std::string param_item(const SetParam& param);

}  // namespace polyte::schedule
