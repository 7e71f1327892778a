// A Program of loose statements (random_updates.h) while it is written: its tensors and regions,
// and what a statement reads and computes. Every read is inside its tensor, or says what it is
// outside.
#pragma once

#include <array>
#include <set>
#include <string>
#include <vector>

#include "driver/judge/fuzz/program_draft.h"

namespace polyte::fuzz {

// An iterator from `low` to `extent + low`, so that `name - low` is a subscript of a dimension
// of that extent.
struct DrawnLoop {
  std::string name, extent;
  int low = 0;
  std::string subscript() const { return with_offset(name, -low); }
  std::string range() const {
    return name + " in " + std::to_string(low) + ".." + with_offset(extent, low);
  }
};

inline constexpr std::size_t kMostDimensions = 4;
inline constexpr std::array<const char*, kMostDimensions> kDimensionNames = {"i", "j", "v", "w"};

// A tensor of the Program; inputs as well.
struct DrawnArray {
  std::string name, type;
  std::vector<std::string> shape;
  int depth = 0;            // it is defined in this many regions; -1: no longer readable
  bool is_written = false;  // it may be a target
};

class UpdateDraft {
 protected:
  explicit UpdateDraft(Random& random);

  Random& random_;
  std::string type_;
  bool is_integer_ = true;
  std::vector<DrawnArray> arrays_;
  std::vector<std::string> declarations_, body_;
  std::vector<DrawnLoop> regions_;
  std::set<std::string> read_;  // names
  // Sizes that positions select from: there has to be an element.
  std::set<std::string> selected_from_;
  int fresh_ = 0;

  std::string fresh(const std::string& base) { return base + std::to_string(fresh_++); }
  std::string literal() { return std::to_string(random_.between(0, 5)); }
  int depth() const { return static_cast<int>(regions_.size()); }
  void declare(const std::string& role, const std::string& name, const std::string& type,
               const std::vector<std::string>& shape);
  void emit(const std::string& line);

  // --- tensors and loops

  // One or two dimensions, of a size or of two or three elements.
  std::vector<std::string> random_shape();
  std::vector<DrawnLoop> loops_over(const std::vector<std::string>& shape);
  DrawnLoop reduction(const std::string& name);
  static std::vector<std::string> subscripts(const std::vector<DrawnLoop>& loops);
  static std::string ranges(const std::vector<DrawnLoop>& loops);

  // --- reads

  // A new input over some of the loops and regions.
  std::string input(std::vector<DrawnLoop> loops, const std::string& type);
  // What subscripts an extent: filled with numbers below it.
  std::string position(const DrawnLoop& loop);
  const DrawnLoop* loop_of(const std::vector<DrawnLoop>& loops, const std::string& extent);
  // An element of a tensor: the one of these loops, a neighbour with `else`, one under a condition,
  // a gathered one.
  std::string element(const DrawnArray& array, const std::vector<DrawnLoop>& loops,
                      int own_percent);
  // An input of positions over this loop's extent, which is also the extent it selects from.
  std::string gathered(const DrawnLoop& loop);
  // The element where it is inside and another condition holds.
  std::string guarded(const DrawnArray& array, const std::vector<std::string>& places,
                      const std::vector<DrawnLoop>& loops);
  std::string condition(const std::vector<DrawnLoop>& loops);
  // Tensors of this type that a statement here may read.
  std::vector<const DrawnArray*> readable(const std::string& type);
  // A readable tensor, or an input.
  std::string read(const std::vector<DrawnLoop>& loops, int old_percent);
  // One element twice, each time under another condition.
  std::string again(const DrawnArray& array, const std::vector<DrawnLoop>& loops);
  std::string value(const std::vector<DrawnLoop>& loops, int old_percent);
  // Floats stay whole and small, whatever is added up.
  std::string clamped(const std::string& value);
  std::string truth(const std::vector<DrawnLoop>& loops);
};

}  // namespace polyte::fuzz
