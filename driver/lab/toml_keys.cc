#include "driver/lab/toml_keys.h"

#include <algorithm>

#include "support/error.h"
#include "support/nearest_word.h"

namespace polyte::lab {
namespace {

constexpr std::size_t kMostBytes = 1U << 20U;

const char* name_of(toml::node_type type) {
  switch (type) {
    case toml::node_type::string:
      return "text";
    case toml::node_type::integer:
      return "a whole number";
    case toml::node_type::floating_point:
      return "a number";
    case toml::node_type::boolean:
      return "true or false";
    case toml::node_type::array:
      return "a list";
    case toml::node_type::table:
      return "a table";
    default:
      return "a date or time";
  }
}

// "0.02" and "64", where std::to_string gives six decimals.
std::string short_text(double value) {
  std::string text = std::to_string(value);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text;
}

}  // namespace

toml::table parse_toml(std::string_view text, const std::string& origin) {
  if (text.size() > kMostBytes)
    throw UserError(ExitStatus::ResourceLimit, origin + ": more than 1 MiB of text");
  try {
    // toml++ throws parse_error for what is not TOML, with the place. Some hostile texts trip
    // its assertions instead, which TOML_ASSERT makes a logic_error: those have no place.
    return toml::parse(text, origin);
  } catch (const toml::parse_error& e) {
    std::string words(e.description());
    if (!words.empty() && words.back() == '.') words.pop_back();
    throw UserError(ExitStatus::InvalidInput,
                    origin + ":" + std::to_string(e.source().begin.line) + ": not TOML: " + words);
  } catch (const std::logic_error& e) {  // of TOML_ASSERT
    throw UserError(ExitStatus::InvalidInput, origin + ": not TOML: " + e.what());
  }
}

// Every key that is asked for becomes known, whether or not it is there: finish() needs them
// for did_you_mean too.
const toml::node* Keys::find(const std::string& key) {
  known_.push_back(key);
  return table_.get(key);
}

void Keys::wrong(const toml::node& node, const std::string& key, const std::string& expected) {
  problems_.add(node.source(), "'" + title_ + key + "': expected " + expected + ", got " +
                                   std::string(name_of(node.type())));
}

void Keys::text(const std::string& key, std::string& value) {
  const toml::node* node = find(key);
  if (!node) return;
  if (const auto* found = node->as_string())
    value = **found;
  else
    wrong(*node, key, "text");
}

void Keys::flag(const std::string& key, bool& value) {
  const toml::node* node = find(key);
  if (!node) return;
  if (const auto* found = node->as_boolean())
    value = **found;
  else
    wrong(*node, key, "true or false");
}

// Written so that a NaN, which TOML has, is outside.
void Keys::number(const std::string& key, double& value, double least, double most) {
  const toml::node* node = find(key);
  if (!node) return;
  const std::optional<double> found = node->value<double>();
  // value<double>() converts integers, so 64 is a number; it would convert true too.
  if (!found || node->is_boolean()) return wrong(*node, key, "a number");
  if (!(*found >= least && *found <= most)) return outside(*node, key, least, most);
  value = *found;
}

void Keys::whole(const std::string& key, std::int64_t& value, std::int64_t least,
                 std::int64_t most) {
  if (const toml::node* node = find(key)) whole_of(*node, key, value, least, most);
}

// For a number or an item of a list: the caller has found the node. Returns whether `value` was
// set.
bool Keys::whole_of(const toml::node& node, const std::string& key, std::int64_t& value,
                    std::int64_t least, std::int64_t most) {
  const auto* found = node.as_integer();
  if (!found) return wrong(node, key, "a whole number"), false;
  if (**found < least || **found > most)
    return outside(node, key, static_cast<double>(least), static_cast<double>(most)), false;
  value = **found;
  return true;
}

// The first item that is right replaces the defaults, the others are added to it.
void Keys::texts(const std::string& key, std::vector<std::string>& values) {
  items(key, "text or a list of texts", [&](const toml::node& node, bool first) {
    if (first) values.clear();
    const auto* found = node.as_string();
    if (found) values.push_back(**found);
    return found != nullptr;
  });
}

void Keys::wholes(const std::string& key, std::vector<std::int64_t>& values, std::int64_t least,
                  std::int64_t most) {
  items(key, "a whole number or a list of them", [&](const toml::node& node, bool first) {
    if (first) values.clear();
    std::int64_t value = 0;
    // An item of another type ends the list with one message; one outside of the range is
    // reported, and the rest still looked at.
    if (!node.is_integer()) return false;
    if (whole_of(node, key, value, least, most)) values.push_back(value);
    return true;
  });
}

void Keys::range(const std::string& key, int& least, int& most, int limit) {
  std::vector<std::int64_t> values;
  wholes(key, values, 1, limit);
  // wholes() has asked for the key; here it is looked up again for its place.
  const toml::node* node = table_.get(key);
  if (!node || values.empty()) return;
  if (values.size() > 2 || values.front() > values.back())
    return problems_.add(node->source(),
                         "'" + title_ + key + "': expected one number, or [least, most]");
  least = static_cast<int>(values.front());
  most = static_cast<int>(values.back());
}

// What nobody has asked for by then is a misspelt key, not an extension.
void Keys::finish(const std::function<std::string(const std::string& key)>& elsewhere) {
  for (const auto& [key, node] : table_) {
    const std::string name(key.str());
    if (std::ranges::find(known_, name) != known_.end()) continue;
    const std::string place = elsewhere ? elsewhere(name) : "";
    problems_.add(key.source(), "unknown key '" + title_ + name + "'" +
                                    (place.empty() ? did_you_mean(name, known_) : ": " + place));
  }
}

void Keys::outside(const toml::node& node, const std::string& key, double least, double most) {
  problems_.add(node.source(), "'" + title_ + key + "': expected " + short_text(least) + " to " +
                                   short_text(most));
}

// A single value stands for a list of one.
void Keys::items(const std::string& key, const std::string& expected,
                 const std::function<bool(const toml::node&, bool)>& take) {
  const toml::node* node = find(key);
  if (!node) return;
  const toml::array* list = node->as_array();
  if (!list) {
    if (!take(*node, true)) wrong(*node, key, expected);
    return;
  }
  if (list->empty() || list->size() > kMostItems)
    return problems_.add(node->source(), "'" + title_ + key + "': expected 1 to " +
                                             std::to_string(kMostItems) + " values, got " +
                                             std::to_string(list->size()));
  for (std::size_t i = 0; i < list->size(); ++i)
    if (!take(*list->get(i), i == 0)) return wrong(*list->get(i), key, expected);
}

}  // namespace polyte::lab
