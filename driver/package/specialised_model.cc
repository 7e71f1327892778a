#include "driver/package/specialised_model.h"

#include "driver/package/package_model.h"

#include <algorithm>
#include <optional>
#include <set>

namespace polyte::driver {
namespace {

const runtime::Tensor* find(const runtime::NamedTensors& tensors, const std::string& name) {
  const auto found =
      std::ranges::find_if(tensors, [&](const auto& one) { return one.first == name; });
  return found == tensors.end() ? nullptr : &found->second;
}

// What the importer asked about one input, and was told.
struct Condition {
  std::string input;
  std::optional<runtime::TensorSpec> given;  // nothing: it was not there
  std::optional<runtime::Tensor> value;      // where the elements matter too

  // An input that was not there must not be there now; one whose value decided something must
  // have the same elements, of others type and shape are enough.
  bool holds(const runtime::NamedTensors& inputs) const {
    const runtime::Tensor* tensor = find(inputs, input);
    if (!tensor || !given) return !tensor && !given;
    return tensor->dtype() == given->dtype && tensor->shape() == given->shape &&
           (!value || std::ranges::equal(tensor->raw(), value->raw()));
  }
};

graph::Tensor to_graph(const runtime::Tensor& tensor) {
  const auto raw = tensor.raw();
  return {{tensor.dtype(), tensor.shape()},
          std::make_shared<const graph::Bytes>(raw.begin(), raw.end())};
}

}  // namespace

struct SpecialisedModel::Specialisation {
  std::vector<Condition> conditions;
  std::vector<std::string> specialised;  // inputs that are constants
  runtime::Session session;

  bool fits(const runtime::NamedTensors& inputs) const {
    return std::ranges::all_of(conditions,
                               [&](const Condition& condition) { return condition.holds(inputs); });
  }

  // The views that the session takes, in its order.
  // A constant of this specialisation is known, so it may be among the inputs; it is not passed
  // on.
  std::vector<runtime::TensorView> arguments(const runtime::NamedTensors& inputs) const {
    std::vector<runtime::TensorView> views;
    std::vector<std::string> problems;
    std::set<std::string> known(specialised.begin(), specialised.end());
    for (const runtime::TensorSpec& spec : session.inputs()) {
      known.insert(spec.name);
      if (const runtime::Tensor* tensor = find(inputs, spec.name))
        views.push_back(tensor->view());
      else
        problems.push_back("input '" + spec.name + "' is missing");
    }
    for (const auto& [name, tensor] : inputs) {
      if (!known.contains(name)) problems.push_back("input '" + name + "': there is no such input");
    }
    if (!problems.empty()) throw UserError(ExitStatus::InvalidInput, problems);
    return views;
  }
};

SpecialisedModel::SpecialisedModel(std::filesystem::path onnx, ModelOptions options,
                                   codegen::Target target, frontend::ImportOptions import,
                                   SpecialisationOptions how)
    : onnx_(std::move(onnx)),
      options_(std::move(options)),
      target_(std::move(target)),
      import_(std::move(import)),
      how_(how) {}

std::shared_ptr<const SpecialisedModel::Specialisation> SpecialisedModel::compile(
    const runtime::NamedTensors& inputs) {
  std::map<std::string, bool> asked;  // and whether there was an answer
  frontend::ImportOptions import = import_;
  // The importer asks for an input only where its shape or value decides something. What it has
  // asked for, and only that, decides whether later inputs are of the same kind.
  import.offer = [&](const std::string& name, std::size_t) {
    const runtime::Tensor* tensor = find(inputs, name);
    asked[name] = tensor != nullptr;
    return tensor ? std::optional(to_graph(*tensor)) : std::nullopt;
  };
  frontend::Imported imported = frontend::import_onnx(onnx_, import);
  PackagedModel model = package_model(std::move(imported.graph), target_, options_);
  notes_ = std::move(imported.notes);
  notes_.insert(notes_.end(), model.notes.begin(), model.notes.end());
  ++compilations_;
  std::vector<Condition> conditions;
  for (const auto& [name, is_given] : asked) {
    Condition condition{name, std::nullopt, std::nullopt};
    if (is_given) {
      const runtime::Tensor& tensor = *find(inputs, name);
      condition.given = {name, tensor.dtype(), tensor.shape()};
      const bool by_value =
          std::ranges::find(imported.specialised, name) != imported.specialised.end();
      if (by_value) condition.value = tensor.clone();
    }
    conditions.push_back(std::move(condition));
  }
  return std::make_shared<const Specialisation>(
      Specialisation{std::move(conditions), std::move(imported.specialised),
                     runtime::Session(runtime::Artifact::from_parts(std::move(model.parts)),
                                      {.threads = how_.threads, .cuda = how_.cuda})});
}

// The list is ordered by the last use; the one that was not used for longest goes first. While one
// is compiled other runs wait, also those whose own is there.
std::shared_ptr<const SpecialisedModel::Specialisation> SpecialisedModel::specialise(
    const runtime::NamedTensors& inputs) {
  const std::lock_guard lock(mutex_);
  const auto found =
      std::ranges::find_if(kept_, [&](const auto& one) { return one->fits(inputs); });
  if (found != kept_.end()) {
    kept_.splice(kept_.begin(), kept_, found);
    return kept_.front();
  }
  kept_.push_front(compile(inputs));
  if (kept_.size() > std::max<std::size_t>(how_.most_kept, 1)) kept_.pop_back();
  return kept_.front();
}

// Specialisations are shared pointers: one that is thrown out while it runs lives until the run
// is over.
runtime::NamedTensors SpecialisedModel::run(const runtime::NamedTensors& inputs) {
  const std::shared_ptr<const Specialisation> one = specialise(inputs);
  const std::vector<runtime::TensorView> arguments = one->arguments(inputs);
  runtime::NamedTensors outputs;
  std::vector<runtime::TensorView> results;
  for (const runtime::TensorSpec& spec : one->session.outputs())
    outputs.emplace_back(spec.name, runtime::Tensor(spec.dtype, spec.shape));
  for (const auto& [name, tensor] : outputs) results.push_back(tensor.view());
  one->session.run(arguments, results);
  return outputs;
}

int SpecialisedModel::compilations() const {
  const std::lock_guard lock(mutex_);
  return compilations_;
}

std::vector<std::string> SpecialisedModel::notes() const {
  const std::lock_guard lock(mutex_);
  return notes_;
}

}  // namespace polyte::driver
