// Reads the tokens of one line of loop text; what is not there fails with a message that quotes
// the rest of the line.
//
//   Cursor c("serial m.o in 0..74");
//   c.name();              // "serial"
//   c.name();              // "m.o"
//   c.accept_word("in");   // true
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace polyte::ir::loop_text {

constexpr int kDeepest = 200;  // what the recursive passes over loops and expressions follow

struct Failure {  // of one line; the parser adds its number
  std::string message;
};
[[noreturn]] void fail(std::string message);

class Cursor {
 public:
  explicit Cursor(const std::string& text) : text_(text) {}

  // Counts nested brackets and calls, of which there may be kDeepest.
  void enter();
  void leave() { --depth_; }

  bool at_end();
  char peek();  // the next character that is no space; 0 at the end
  bool next_is(std::string_view token);
  bool accept(std::string_view token);
  void expect(std::string_view token);
  bool accept_word(std::string_view word);  // followed by something that is not part of a name
  std::string name();                       // letters, digits, '_', and '.' between them
  std::int64_t integer();
  double real();
  std::string operator_token();

  std::size_t position() const { return at_; }
  void go_to(std::size_t position) { at_ = position; }

 private:
  const std::string& text_;
  std::size_t at_ = 0;
  int depth_ = 0;

  void skip_spaces();
  bool is_inner_dot() const;
};

}  // namespace polyte::ir::loop_text
