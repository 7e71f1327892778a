// Libraries as arms: numpy, torch, XLA, onnxruntime, OpenVINO and oneDNN, and on a GPU
// torch, cuBLAS and Triton, each in a Python process of its own that runs a Program's array
// form (array_form.h) or reads an ONNX model, on tensors in memory that both see. Python is
// POLYTE_PYTHON or the python3 of PATH, its side bench/lab_peers; what is not there is `absent`.
//
// The process times its executions by its own clock, a call from Python included, on a GPU by the
// GPU's, and is asked for a round when it is its turn, so that rounds stay interleaved with those
// of the other arms.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "driver/lab/contender.h"

namespace polyte::lab {

bool is_python_peer(const std::string& name);

// "torch 2.4.0", or why it is not there; one process for all of them.
std::map<std::string, std::string> versions_of_libraries(const std::vector<std::string>& names,
                                                         bool on_gpu);

// Starts what the workshop's arms want of libraries for its GPU (Workshop::started).
void start_libraries(Workshop& workshop);

// `what`: {"form": ..} or {"model": path}. Its status is `absent` or `declined` where it cannot be
// had, with the reason. `on_gpu`: on the workshop's; else on this processor.
Prepared by_python(const Workshop& workshop, const std::string& peer, nlohmann::ordered_json what,
                   const Interface& interface, bool on_gpu);

}  // namespace polyte::lab
