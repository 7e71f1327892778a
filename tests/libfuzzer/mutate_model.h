// Mutations of a model that keep it a model: what bytes flipped at random hardly ever do. Any field
// of any message, found by reflection, is set, cleared, repeated or removed; names are exchanged
// for other names of the same model, operators for others that the importer knows, numbers for
// those at the edges.
#pragma once

#include <cstdint>
#include <random>
#include <string>

#include "polyte_onnx.pb.h"

namespace polyte::fuzz {

using Generator = std::minstd_rand;

// One to four changes.
void mutate_model(onnx::ModelProto& model, Generator& random);

// Nodes, initializers, inputs and functions of `other` are added to those of `model`.
void cross_models(onnx::ModelProto& model, const onnx::ModelProto& other, Generator& random);

}  // namespace polyte::fuzz
