// Why is it faster? A script measured without each of its lines, and the way from one script to another, step by step.
// Both are plans like any other (plan.h), whose arms are variants of scripts; what they are worth is read off the
// results.
#pragma once

#include <string>
#include <vector>

#include "driver/lab/results.h"
#include "driver/lab/script_steps.h"

namespace polyte::lab {

// What a script is measured on.
struct Subject {
  std::string source, dtype;  // of Programs, as `programs` of an experiment
  Sizes sizes;
  int threads = 1;
  std::string fill = "normal:1", target = "cpu:native";
  StopRule stop;
};

// Arms: the whole script (the baseline), it without each line that is not a param, with each param at 1, and its first
// lines only, in order.
Plan ablation_plan(const schedule::Script& script, const std::string& name, const Subject& subject,
                   const Sources& sources);
std::string ablation_text(const Results& results);  // 80 columns

// Arms: the first script (the baseline), the script after each step, the second. Steps whose scripts are refused are
// taken together with others.
Plan path_plan(const schedule::Script& first, const std::string& first_name, const schedule::Script& second,
               const std::string& second_name, const Subject& subject, const Sources& sources);
std::string path_text(const Results& results);

}  // namespace polyte::lab
