// What is printed to people holds names and paths from models and command lines, and a terminal
// obeys what begins with an escape character: it may be told to hide text, to change its title, on
// some to type. While a PlainStream lives, control characters that come through the stream, but for
// ends of lines and tabs, are shown as \x1b.
//
//   const PlainStream plain(std::cerr);
#pragma once

#include <memory>
#include <ostream>

namespace polyte::cli {

class PlainStream {
 public:
  explicit PlainStream(std::ostream& stream);
  ~PlainStream();
  PlainStream(const PlainStream&) = delete;
  PlainStream& operator=(const PlainStream&) = delete;

 private:
  std::ostream& stream_;
  std::unique_ptr<std::streambuf> filter_;
  std::streambuf* behind_;
};

}  // namespace polyte::cli
