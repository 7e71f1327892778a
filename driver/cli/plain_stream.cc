#include "driver/cli/plain_stream.h"

#include <algorithm>
#include <streambuf>
#include <string_view>

namespace polyte::cli {
namespace {

// Of the characters U+0080 to U+009F, which are control characters too, UTF-8 has 0xc2 and
// a byte below 0xa0.
class Filter : public std::streambuf {
 public:
  explicit Filter(std::streambuf& behind) : behind_(behind) {}

 protected:
  int_type overflow(int_type c) override {
    if (traits_type::eq_int_type(c, traits_type::eof())) return traits_type::not_eof(c);
    return put(static_cast<unsigned char>(traits_type::to_char_type(c))) ? c : traits_type::eof();
  }
  int sync() override { return behind_.pubsync(); }

 private:
  std::streambuf& behind_;
  bool after_c2_ = false;

  // 0xc2 is held back until the next byte says whether it begins a control character.
  bool put(unsigned char c) {
    const bool is_c1 = after_c2_ && c >= 0x80 && c < 0xa0;
    if (after_c2_ && !is_c1 && !write("\xc2")) return false;
    after_c2_ = c == 0xc2;
    if (after_c2_) return true;
    const bool is_control = (c < 0x20 && c != '\n' && c != '\t') || c == 0x7f;
    const char digits[] = {'\\', 'x', "0123456789abcdef"[c >> 4], "0123456789abcdef"[c & 15]};
    if (is_control || is_c1) return write({digits, sizeof digits});
    const char plain = static_cast<char>(c);
    return write({&plain, 1});
  }
  bool write(std::string_view text) {
    return std::ranges::all_of(text,
                               [this](char c) { return behind_.sputc(c) != traits_type::eof(); });
  }
};

}  // namespace

PlainStream::PlainStream(std::ostream& stream)
    : stream_(stream),
      filter_(std::make_unique<Filter>(*stream.rdbuf())),
      behind_(stream.rdbuf(filter_.get())) {}

PlainStream::~PlainStream() { stream_.rdbuf(behind_); }

}  // namespace polyte::cli
