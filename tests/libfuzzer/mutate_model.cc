#include "tests/libfuzzer/mutate_model.h"

#include <cmath>
#include <limits>
#include <vector>

#include "frontend/onnx_import.h"

namespace polyte::fuzz {

namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

constexpr int kMostDepth = 12;
constexpr std::size_t kMostSites = 4000;

std::size_t below(std::size_t n, Generator& random) { return random() % n; }
bool chance(int percent, Generator& random) {
  return below(100, random) < static_cast<std::size_t>(percent);
}

template <class T>
const T& pick(const std::vector<T>& choices, Generator& random) {
  return choices[below(choices.size(), random)];
}

// A field of a message; of a repeated one the element, or -1 for a place behind the last.
struct Site {
  Message* message;
  const FieldDescriptor* field;
  int index;
};

struct Sites {
  std::vector<Site> all;
  std::vector<std::string> names;  // every short string of the model
};

void collect(Message& message, int depth, Sites& sites) {
  const Reflection& reflection = *message.GetReflection();
  for (int f = 0; f < message.GetDescriptor()->field_count() && sites.all.size() < kMostSites;
       ++f) {
    const FieldDescriptor* field = message.GetDescriptor()->field(f);
    const bool is_message = field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE;
    const int count = field->is_repeated() ? reflection.FieldSize(message, field) : 0;
    for (int i = -1; i < count; ++i) sites.all.push_back({&message, field, i});
    if (field->cpp_type() == FieldDescriptor::CPPTYPE_STRING &&
        field->type() == FieldDescriptor::TYPE_STRING) {
      for (int i = 0; i < count; ++i)
        sites.names.push_back(reflection.GetRepeatedString(message, field, i));
      if (!field->is_repeated()) sites.names.push_back(reflection.GetString(message, field));
    }
    if (!is_message || depth >= kMostDepth) continue;
    for (int i = 0; i < count; ++i)
      collect(*reflection.MutableRepeatedMessage(&message, field, i), depth + 1, sites);
    if (!field->is_repeated() && reflection.HasField(message, field))
      collect(*reflection.MutableMessage(&message, field), depth + 1, sites);
  }
}

std::int64_t number(std::int64_t before, Generator& random) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  static const std::vector<std::int64_t> kEdges = {-1,
                                                   0,
                                                   1,
                                                   2,
                                                   3,
                                                   4,
                                                   7,
                                                   8,
                                                   16,
                                                   64,
                                                   255,
                                                   256,
                                                   65536,
                                                   std::int64_t{1} << 31,
                                                   std::int64_t{1} << 40,
                                                   kMost,
                                                   -kMost - 1};
  if (chance(40, random)) return pick(kEdges, random);
  const std::int64_t step = static_cast<std::int64_t>(below(5, random)) - 2;
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(before) +
                                   static_cast<std::uint64_t>(step));
}

double real(double before, Generator& random) {
  static const std::vector<double> kEdges = {0,    -0.0,         1,        -1,       0.5, 2, 1e-30,
                                             1e30, std::nan(""), HUGE_VAL, -HUGE_VAL};
  return chance(70, random) ? pick(kEdges, random) : before * 2;
}

std::string text(const Site& site, const std::string& before, const Sites& sites,
                 Generator& random) {
  static const std::vector<frontend::OperatorSupport> kOperators = frontend::supported_operators();
  if (site.field->name() == "op_type" && chance(80, random)) return pick(kOperators, random).op;
  if (site.field->type() == FieldDescriptor::TYPE_STRING && !sites.names.empty() &&
      chance(85, random))
    return pick(sites.names, random);
  std::string after = before;
  if (after.empty() || chance(30, random)) return after + static_cast<char>(below(256, random));
  after[below(after.size(), random)] = static_cast<char>(below(256, random));
  if (chance(20, random)) after.resize(below(after.size(), random));
  return after;
}

// The operations of reflection come in two forms, with an index and without.
void set_scalar(const Site& site, const Sites& sites, Generator& random) {
  const auto& [message, field, index] = site;
  const Reflection& r = *message->GetReflection();
  const bool many = field->is_repeated();
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT64: {
      const auto value = number(
          many ? r.GetRepeatedInt64(*message, field, index) : r.GetInt64(*message, field), random);
      return many ? r.SetRepeatedInt64(message, field, index, value)
                  : r.SetInt64(message, field, value);
    }
    case FieldDescriptor::CPPTYPE_UINT64: {
      const auto value = static_cast<std::uint64_t>(number(0, random));
      return many ? r.SetRepeatedUInt64(message, field, index, value)
                  : r.SetUInt64(message, field, value);
    }
    case FieldDescriptor::CPPTYPE_INT32: {
      const auto value =
          static_cast<std::int32_t>(chance(50, random) ? below(24, random) : random());
      return many ? r.SetRepeatedInt32(message, field, index, value)
                  : r.SetInt32(message, field, value);
    }
    case FieldDescriptor::CPPTYPE_FLOAT: {
      const auto value = static_cast<float>(real(1, random));
      return many ? r.SetRepeatedFloat(message, field, index, value)
                  : r.SetFloat(message, field, value);
    }
    case FieldDescriptor::CPPTYPE_DOUBLE: {
      const double value = real(1, random);
      return many ? r.SetRepeatedDouble(message, field, index, value)
                  : r.SetDouble(message, field, value);
    }
    case FieldDescriptor::CPPTYPE_ENUM: {
      const auto* type = field->enum_type();
      const auto* value = type->value(
          static_cast<int>(below(static_cast<std::size_t>(type->value_count()), random)));
      return many ? r.SetRepeatedEnum(message, field, index, value)
                  : r.SetEnum(message, field, value);
    }
    case FieldDescriptor::CPPTYPE_STRING: {
      const std::string before =
          many ? r.GetRepeatedString(*message, field, index) : r.GetString(*message, field);
      const std::string value = text(site, before, sites, random);
      return many ? r.SetRepeatedString(message, field, index, value)
                  : r.SetString(message, field, value);
    }
    default:
      return;
  }
}

// A new last element: a copy of another where it is a message.
void append(const Site& site, const Sites& sites, Generator& random) {
  const auto& [message, field, index] = site;
  const Reflection& r = *message->GetReflection();
  const int count = r.FieldSize(*message, field);
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_MESSAGE: {
      Message* added = r.AddMessage(message, field);
      if (count > 0)
        added->CopyFrom(r.GetRepeatedMessage(*message, field, static_cast<int>(random()) % count));
      return;
    }
    case FieldDescriptor::CPPTYPE_INT64:
      return r.AddInt64(message, field, number(1, random));
    case FieldDescriptor::CPPTYPE_INT32:
      return r.AddInt32(message, field, 1);
    case FieldDescriptor::CPPTYPE_UINT64:
      return r.AddUInt64(message, field, 1);
    case FieldDescriptor::CPPTYPE_FLOAT:
      return r.AddFloat(message, field, 1);
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return r.AddDouble(message, field, 1);
    case FieldDescriptor::CPPTYPE_STRING:
      return r.AddString(message, field, text(site, {}, sites, random));
    default:
      return;
  }
}

void change_repeated(const Site& site, const Sites& sites, Generator& random) {
  const auto& [message, field, index] = site;
  const Reflection& r = *message->GetReflection();
  const int count = r.FieldSize(*message, field);
  if (index < 0) return append(site, sites, random);
  const bool is_message = field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE;
  if (!is_message && chance(70, random)) return set_scalar(site, sites, random);
  r.SwapElements(message, field, index,
                 static_cast<int>(below(static_cast<std::size_t>(count), random)));
  if (chance(60, random)) r.RemoveLast(message, field);
}

void change_single(const Site& site, const Sites& sites, Generator& random) {
  const auto& [message, field, index] = site;
  const Reflection& r = *message->GetReflection();
  if (r.HasField(*message, field) && chance(8, random)) return r.ClearField(message, field);
  if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) return set_scalar(site, sites, random);
  if (!r.HasField(*message, field)) r.MutableMessage(message, field);
}

template <class Field>
void add_some(Field& to, const Field& from, Generator& random) {
  for (const auto& item : from) {
    if (chance(50, random)) *to.Add() = item;
  }
}

}  // namespace

void mutate_model(onnx::ModelProto& model, Generator& random) {
  for (std::size_t times = 1 + below(4, random); times > 0; --times) {
    Sites sites;
    collect(model, 0, sites);
    Site site = pick(sites.all, random);
    // Most sites are fields that nobody sets: look again for one that is.
    for (int again = 0; again < 6 && !site.field->is_repeated() &&
                        !site.message->GetReflection()->HasField(*site.message, site.field);
         ++again)
      site = pick(sites.all, random);
    site.field->is_repeated() ? change_repeated(site, sites, random)
                              : change_single(site, sites, random);
  }
}

void cross_models(onnx::ModelProto& model, const onnx::ModelProto& other, Generator& random) {
  add_some(*model.mutable_graph()->mutable_initializer(), other.graph().initializer(), random);
  add_some(*model.mutable_graph()->mutable_input(), other.graph().input(), random);
  add_some(*model.mutable_graph()->mutable_node(), other.graph().node(), random);
  add_some(*model.mutable_functions(), other.functions(), random);
}

}  // namespace polyte::fuzz
