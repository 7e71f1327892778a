// What an arm's record says beside its times, in the words that all formats share: what it costs to
// compile, what it takes of memory, what the model predicted and the processor counted.
#pragma once

#include <string>

#include "driver/lab/results.h"

namespace polyte::lab {

double compile_ms(const ArmResult& arm);         // all stages; 0: not known
std::string compile_text(const ArmResult& arm);  // "schedule 1.2 ms, proof 3.4 ms, .."
// Interface, scratch and stack together; 0: not known.
double memory_bytes(const ArmResult& arm);
std::string memory_text(const ArmResult& arm);  // "48 KiB, 4 KiB of it scratch"
// "6.2 us, by issue; 524288 operations; from beyond L1 ..": the model's. Empty: nothing is
// predicted.
std::string predicted_text(const ArmResult& arm);
// Of it what follows the time; empty where that is not known, as of a GPU.
std::string predicted_work_text(const Predicted& model);
// "instructions 81920, .."; empty: the processor does not count.
std::string counted_text(const ArmResult& arm);
// One line each of the parts that are known: storage, order, proof.
std::string decisions_text(const ArmResult& arm);

}  // namespace polyte::lab
