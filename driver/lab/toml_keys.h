// TOML for the lab's own files: tables whose keys are asked for by name and kind, and every problem
// with its line. The files are a stranger's: their size and every number are limited. toml++ is
// seen here and by who includes this.
#pragma once

#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "driver/lab/problems.h"

namespace polyte::lab {
// What the parser takes for granted of hostile text (`[[[`) ends in an error of ours, not
// of the process.
constexpr void expect_toml(bool condition) {
  if (!condition) throw std::logic_error("the text is not well-formed");
}
}  // namespace polyte::lab
#define TOML_ASSERT(condition) ::polyte::lab::expect_toml(static_cast<bool>(condition))
#include <toml++/toml.h>

namespace polyte::lab {

inline constexpr std::size_t kMostItems = 1'000;

// UserError: not TOML, with the line, or more than 1 MiB.
toml::table parse_toml(std::string_view text, const std::string& origin);

// The keys of one table: each is asked for once, and what nobody asked for is a mistake. A value is
// left as it is where its key is not there, or is wrong.
class Keys {
 public:
  Keys(const toml::table& table, std::string title, Problems& problems)
      : table_(table), title_(std::move(title)), problems_(problems) {}

  const toml::node* find(const std::string& key);
  const toml::table& table() const { return table_; }
  void wrong(const toml::node& node, const std::string& key, const std::string& expected);

  void text(const std::string& key, std::string& value);
  void flag(const std::string& key, bool& value);
  void number(const std::string& key, double& value, double least, double most);
  void whole(const std::string& key, std::int64_t& value, std::int64_t least, std::int64_t most);
  bool whole_of(const toml::node& node, const std::string& key, std::int64_t& value,
                std::int64_t least, std::int64_t most);
  void texts(const std::string& key, std::vector<std::string>& values);  // one or several
  void wholes(const std::string& key, std::vector<std::int64_t>& values, std::int64_t least,
              std::int64_t most);
  // `[least, most]`, or one number that is both.
  void range(const std::string& key, int& least, int& most, int limit);
  // `elsewhere` says of a key of another table where it belongs, "it is of [stop]"; else it is
  // empty.
  void finish(const std::function<std::string(const std::string& key)>& elsewhere = {});

 private:
  const toml::table& table_;
  std::string title_;
  Problems& problems_;
  std::vector<std::string> known_;

  void outside(const toml::node& node, const std::string& key, double least, double most);
  void items(const std::string& key, const std::string& expected,
             const std::function<bool(const toml::node&, bool)>& take);
};

}  // namespace polyte::lab
