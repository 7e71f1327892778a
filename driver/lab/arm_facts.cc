#include "driver/lab/arm_facts.h"

#include <array>
#include <cstdio>

#include "driver/lab/text_table.h"

namespace polyte::lab {
namespace {

using Json = nlohmann::ordered_json;

// A fact that is an object; an empty one where there is none, so that callers need no branch.
const Json& member(const ArmResult& arm, const char* key) {
  static const Json none = Json::object();
  const auto found = arm.facts.is_object() ? arm.facts.find(key) : arm.facts.end();
  return found != arm.facts.end() && found->is_object() ? *found : none;
}

// Exact up to a million, then three digits.
std::string figure(double value) {
  char text[32];
  std::snprintf(text, sizeof text, value < 1e6 ? "%.0f" : "%.3g", value);
  return text;
}

std::string bytes_text(double bytes) {  // "48 KiB"
  constexpr std::array kUnits{"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  // From 1000 on in the next unit: three digits are shown.
  for (; bytes >= 999.5 && unit + 1 < kUnits.size(); ++unit) bytes /= 1024;
  char text[32];
  std::snprintf(text, sizeof text, "%.3g %s", bytes, kUnits[unit]);
  return text;
}

}  // namespace

// Stages are added up, whatever their names: peers have one, Polyte four.
double compile_ms(const ArmResult& arm) {
  double sum = 0;
  for (const auto& [stage, time] : member(arm, "compile_ms").items())
    sum += time.is_number() ? time.get<double>() : 0;
  return sum;
}

std::string compile_text(const ArmResult& arm) {
  std::string text;
  const Json& times = member(arm, "compile_ms");
  for (const auto& [stage, time] : times.items()) {
    if (!time.is_number()) continue;
    char words[64];
    std::snprintf(words, sizeof words, " %.1f ms", time.get<double>());
    text += (text.empty() ? "" : ", ") + stage + words;
  }
  return text;
}

// Tensors of the interface, scratch and stack: what a run needs beside the code.
double memory_bytes(const ArmResult& arm) {
  const Json& memory = member(arm, "memory");
  return number_at(memory, "interface") + number_at(memory, "scratch") + number_at(memory, "stack");
}

std::string memory_text(const ArmResult& arm) {
  const double all = memory_bytes(arm), scratch = number_at(member(arm, "memory"), "scratch");
  if (all <= 0) return "";
  return bytes_text(all) + (scratch > 0 ? ", " + bytes_text(scratch) + " of it scratch" : "");
}

std::string predicted_work_text(const Predicted& model) {
  std::string text = model.flops > 0 ? figure(model.flops) + " operations" : "";
  if (model.beyond_l1 + model.beyond_l2 + model.beyond_l3 <= 0) return text;
  return text + (text.empty() ? "" : "; ") + "from beyond L1 " + bytes_text(model.beyond_l1) +
         ", L2 " + bytes_text(model.beyond_l2) + ", L3 " + bytes_text(model.beyond_l3);
}

std::string predicted_text(const ArmResult& arm) {
  if (!arm.predicted) return "";
  const Predicted& model = *arm.predicted;
  std::string text =
      model.nanoseconds > 0 ? time_text(model.nanoseconds) : figure(model.cycles) + " cycles";
  if (!model.bound.empty()) text += ", by " + model.bound;
  const std::string work = predicted_work_text(model);
  return work.empty() ? text : text + "; " + work;
}

std::string counted_text(const ArmResult& arm) {
  std::string text;
  if (!arm.counted.is_object()) return text;
  for (const auto& [event, count] : arm.counted.items())
    if (count.is_number())
      text += (text.empty() ? "" : ", ") + event + " " + figure(count.get<double>());
  return text;
}

// What a schedule decided beyond its loops; "unchanged" says nothing.
std::string decisions_text(const ArmResult& arm) {
  std::string text;
  for (const auto& [key, title] :
       {std::pair{"storage", "storage"}, {"order", "float order"}, {"proof", "proof"}}) {
    std::string words = fact(arm, key);
    for (char& c : words)
      if (c == '\n') c = ';';
    if (!words.empty() && words != "unchanged")
      text += wrapped(arm.name + ", " + title + ": " + words, "");
  }
  return text;
}

}  // namespace polyte::lab
