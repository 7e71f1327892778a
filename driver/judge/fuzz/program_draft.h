// A random Program while it is written: its element type, the tensors that later statements may
// read, and what of its text there is. Styles (random_styles.h) add statements; reads and values
// are drawn here, so that every subscript stays inside its tensor or is guarded.
#pragma once

#include <string>
#include <vector>

#include "driver/judge/fuzz/random.h"
#include "driver/judge/fuzz/random_program.h"
#include "support/join_words.h"

namespace polyte::fuzz {

// An extent: a parameter and a constant more, or a constant alone.
struct Extent {
  std::string param;  // empty: constant
  int halo = 0;
  std::string text() const {
    if (param.empty()) return std::to_string(halo);
    return halo == 0 ? param : param + " + " + std::to_string(halo);
  }
};
struct DrawnTensor {
  std::string name, type;
  std::vector<Extent> shape;
  bool was_read = false;
};
struct Iterator {
  std::string name;
  Extent extent;
  bool triangular = false;  // ends at another iterator: the extent bounds it only
};

inline const std::vector<std::string> kParams = {"M", "N", "K", "P"};

std::string with_offset(const std::string& iterator, int offset);  // i + 2
std::string ranges_text(const std::vector<Iterator>& iterators);   // i in 0..M, j in 0..N
std::vector<std::string> names_of(const std::vector<Iterator>& iterators);
std::vector<Extent> shape_of(const std::vector<Iterator>& iterators);

class ProgramDraft {
 public:
  explicit ProgramDraft(Random& random);

  Random& random() { return random_; }
  const std::string& type() const { return type_; }
  bool is_integer() const { return is_integer_; }
  bool is_exact() const { return is_exact_; }

  std::string fresh(const std::string& base) { return base + std::to_string(fresh_++); }
  void declare(const std::string& role, const std::string& name, const std::string& type,
               const std::vector<std::string>& shape);
  void declare(const std::string& role, const DrawnTensor& tensor);
  void add_line(std::string line) { body_.push_back(std::move(line)); }
  // From here on it may be read.
  void add_tensor(DrawnTensor tensor) { pool_.push_back(std::move(tensor)); }

  Extent random_extent() {
    return {random_.pick(kParams), random_.chance(15) ? random_.between(1, 2) : 0};
  }
  std::vector<Iterator> random_iterators(int count, const std::string& letters);
  std::vector<Iterator> free_iterators();  // over a tensor of the pool: so that chains share loops

  std::string read(const std::vector<Iterator>& iterators);
  std::string read_new(const std::vector<Iterator>& iterators);  // of an input that it declares
  std::string value(const std::vector<Iterator>& iterators, int depth);
  std::string literal() { return std::to_string(random_.between(0, 5)); }
  std::string clamped(const std::string& value) {
    return is_exact_ ? "min(max(" + value + ", -9), 9)" : value;
  }

  RandomProgram finish();  // what nobody read is a result

 private:
  Random& random_;
  std::string type_;
  bool is_integer_ = true;
  // Floats, whole and small: sums have the same bits in any order.
  bool is_exact_ = false;
  std::vector<DrawnTensor> pool_;       // can be read everywhere within their extents
  std::vector<std::string> interface_;  // declarations that stay as they are
  std::vector<std::string> body_;
  int fresh_ = 0;

  std::string fitting_subscript(const Extent& e, const std::vector<Iterator>& iterators);
  std::string read_old(const std::vector<Iterator>& iterators);
  std::string gathered(const Iterator& it);
};

}  // namespace polyte::fuzz
