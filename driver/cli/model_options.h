// What the verbs that take a model share.
#pragma once

#include "driver/cli/cli.h"
#include "driver/model.h"
#include "frontend/onnx_import.h"

namespace polyte::cli {

struct ModelVerbOptions {
  ScheduleOptions schedule;
  std::vector<std::string> group_arms, shapes, values;
  std::string target = "cpu:native";
  int opt_level = 2;
};
void add_model_options(CLI::App& verb, ModelVerbOptions& options);
frontend::ImportOptions import_options(const ModelVerbOptions& options);
driver::ModelOptions model_options(const ModelVerbOptions& options);

bool is_artifact(const std::string& path);  // by its first bytes

struct LoadedModel {
  std::shared_ptr<const runtime::Artifact> artifact;
  std::vector<std::string> notes;
};
// An artifact as it is, or an ONNX file compiled in this process.
LoadedModel load_model(const std::string& path, const ModelVerbOptions& options);

// An ONNX file in the interpreter, without graph passes. Returns the exit status.
int interpret_model(const std::string& path, const ModelVerbOptions& model, const DataOptions& data);

}  // namespace polyte::cli
