#include "driver/judge/fuzz/random_updates.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <set>

namespace polyte::fuzz {
namespace {

std::string with_offset(const std::string& name, int offset) {
  if (offset == 0) return name;
  return name + (offset > 0 ? " + " : " - ") + std::to_string(std::abs(offset));
}

// An iterator from `low` to `extent + low`, so that `name - low` is a subscript of a dimension of that extent.
struct DrawnLoop {
  std::string name, extent;
  int low = 0;
  std::string subscript() const { return with_offset(name, -low); }
  std::string range() const { return name + " in " + std::to_string(low) + ".." + with_offset(extent, low); }
};

constexpr std::size_t kMostDimensions = 4;
constexpr std::array<const char*, kMostDimensions> kNames = {"i", "j", "v", "w"};

struct Array {
  std::string name, type;
  std::vector<std::string> shape;
  int depth = 0;            // it is defined in this many regions; -1: no longer readable
  bool is_written = false;  // it may be a target
};

class Writer {
 public:
  explicit Writer(Random& random) : random_(random) {
    static const std::vector<std::string> kIntegers = {"i32", "i32", "i32", "i64", "u8", "i16", "u32"};
    is_integer_ = random_.chance(65);
    type_ = is_integer_ ? random_.pick(kIntegers) : random_.chance(75) ? "f32" : "f64";
  }

  RandomProgram write() {
    if (random_.chance(15)) {
      column();
    } else {
      const int accumulators = random_.chance(75) ? 1 : 2;
      for (int i = 0; i < accumulators; ++i) accumulator(60);
      for (int parts = random_.between(1, 3); parts > 0; --parts) part();
    }
    finish_reads();
    return {.text = text(), .exact_sums = true};
  }

 private:
  Random& random_;
  std::string type_;
  bool is_integer_ = true;
  std::vector<Array> arrays_;
  std::vector<std::string> declarations_, body_;
  std::vector<DrawnLoop> regions_;
  std::set<std::string> read_;           // names
  std::set<std::string> selected_from_;  // sizes that positions select from: there has to be an element
  int fresh_ = 0;

  std::string fresh(const std::string& base) { return base + std::to_string(fresh_++); }
  std::string literal() { return std::to_string(random_.between(0, 5)); }
  int depth() const { return static_cast<int>(regions_.size()); }

  void declare(const std::string& role, const std::string& name, const std::string& type,
               const std::vector<std::string>& shape) {
    declarations_.push_back(role + std::string(6 - role.size(), ' ') + name + ": " + type + "[" + join_words(shape) +
                            "]");
  }
  void emit(const std::string& line) { body_.push_back(std::string(2 * regions_.size(), ' ') + line); }

  // --- tensors and loops

  // One or two dimensions, of a size or of two or three elements.
  std::vector<std::string> random_shape() {
    std::vector<std::string> shape = {random_.chance(85) ? "M" : "3"};
    if (random_.chance(25)) shape.push_back(random_.chance(80) ? "N" : "2");
    return shape;
  }

  Array accumulator(int temp_percent) {
    const bool is_bool = random_.chance(8);
    Array array{fresh("acc"), is_bool ? "bool" : type_, random_shape(), 0, true};
    const std::string role = random_.chance(temp_percent) ? "temp" : random_.chance(62) ? "inout" : "out";
    declare(role, array.name, array.type, array.shape);
    if (role != "inout" || random_.chance(40)) assignment(array, true);
    arrays_.push_back(array);
    return array;
  }

  // One element updated a few times, in one way or in several, and read at last; in between now and then.
  void column() {
    const Array array = accumulator(100);
    for (int updates = random_.between(2, 3); updates > 0; --updates) {
      update(array);
      if (updates > 1 && random_.chance(25)) consumer(array);
    }
    if (random_.chance(60)) consumer(array);
  }

  std::vector<DrawnLoop> loops_over(const std::vector<std::string>& shape) {
    std::vector<DrawnLoop> loops;
    for (std::size_t d = 0; d < shape.size(); ++d)
      loops.push_back({kNames[d], shape[d], random_.chance(7) ? random_.between(-2, -1) : 0});
    return loops;
  }
  DrawnLoop reduction(const std::string& name) {
    static const std::vector<std::string> kExtents = {"K", "K", "K", "P", "N", "2"};
    return {name, random_.pick(kExtents), random_.chance(7) ? -1 : 0};
  }
  static std::vector<std::string> subscripts(const std::vector<DrawnLoop>& loops) {
    std::vector<std::string> result;
    for (const DrawnLoop& loop : loops) result.push_back(loop.subscript());
    return result;
  }
  static std::string ranges(const std::vector<DrawnLoop>& loops) {
    std::vector<std::string> result;
    for (const DrawnLoop& loop : loops) result.push_back(loop.range());
    return "  for " + join_words(result);
  }

  // --- reads

  // A new input over some of the loops and regions.
  std::string input(std::vector<DrawnLoop> loops, const std::string& type) {
    for (const DrawnLoop& region : regions_)
      if (random_.chance(60)) loops.insert(loops.begin(), region);
    while (loops.size() > 1 && random_.chance(20))
      loops.erase(loops.begin() + static_cast<std::ptrdiff_t>(random_.below(loops.size())));
    std::vector<std::string> shape;
    for (const DrawnLoop& loop : loops) shape.push_back(loop.extent);
    for (const Array& known : arrays_)
      if (!known.is_written && known.type == type && known.shape == shape && random_.chance(60))
        return known.name + "[" + join_words(subscripts(loops)) + "]";
    const Array array{fresh("a"), type, shape, 0, false};
    declare("in", array.name, type, shape);
    arrays_.push_back(array);
    return array.name + "[" + join_words(subscripts(loops)) + "]";
  }

  // What subscripts an extent: filled with numbers below it.
  std::string position(const DrawnLoop& loop) {
    const std::string name = fresh("at");
    const std::string type = random_.chance(50) ? "i32" : "i64";
    declare("in", name, type, {loop.extent});
    if (!random_.chance(25)) return name + "[" + loop.subscript() + "]";
    const std::string copy = fresh("q");  // read back from a temporary
    emit("Q" + copy + ": " + copy + "[" + loop.subscript() + "] = " + name + "[" + loop.subscript() + "]  for " +
         loop.range());
    arrays_.push_back({copy, "position", {loop.extent}, depth(), true});
    read_.insert(copy);
    return copy + "[" + loop.subscript() + "]";
  }

  const DrawnLoop* loop_of(const std::vector<DrawnLoop>& loops, const std::string& extent) {
    std::vector<const DrawnLoop*> found;
    for (const DrawnLoop& loop : loops)
      if (loop.extent == extent) found.push_back(&loop);
    for (const DrawnLoop& region : regions_)
      if (region.extent == extent) found.push_back(&region);
    return found.empty() ? nullptr : random_.pick(found);
  }

  // An element of a tensor: the one of these loops, a neighbour with `else`, one under a condition, a gathered one.
  std::string element(const Array& array, const std::vector<DrawnLoop>& loops, int own_percent) {
    read_.insert(array.name);
    const int form = random_.between(0, 99);
    std::vector<std::string> places;
    bool is_padded = false;
    for (const std::string& extent : array.shape) {
      const DrawnLoop* loop = loop_of(loops, extent);
      if (!loop || (form >= own_percent && random_.chance(70))) {
        const DrawnLoop& any = loop ? *loop : random_.pick(loops);
        is_padded = true;
        places.push_back(with_offset(any.name, random_.between(-1, 1) - any.low));
      } else {
        places.push_back(loop->subscript());
      }
    }
    const std::string text = array.name + "[" + join_words(places) + "]";
    if (is_padded && form >= 92 && array.shape.size() == 1)
      if (const DrawnLoop* loop = loop_of(loops, array.shape[0]);
          loop && array.shape[0] != "2" && array.shape[0] != "3")
        return array.name + "[" + gathered(*loop) + "]";
    if (array.type == "bool") return is_padded ? "(" + text + " else false)" : text;
    if (is_padded && random_.chance(30)) return guarded(array, places, loops);
    return is_padded ? "(" + text + " else " + literal() + ")" : text;
  }

  // An input of positions over this loop's extent, which is also the extent it selects from.
  std::string gathered(const DrawnLoop& loop) {
    const std::string name = fresh("at");
    declare("in", name, "i32", {loop.extent});
    return name + "[" + loop.subscript() + "]";
  }

  // The element where it is inside and another condition holds.
  std::string guarded(const Array& array, const std::vector<std::string>& places, const std::vector<DrawnLoop>& loops) {
    std::vector<std::string> conditions;
    for (std::size_t d = 0; d < places.size(); ++d) {
      conditions.push_back(places[d] + " >= 0");
      conditions.push_back(places[d] + " < " + array.shape[d]);
    }
    conditions.push_back(condition(loops));
    std::string text;
    for (const std::string& each : conditions) text += (text.empty() ? "" : " and ") + each;
    return "(" + array.name + "[" + join_words(places) + "] if " + text + " else " + literal() + ")";
  }

  std::string condition(const std::vector<DrawnLoop>& loops) {
    const DrawnLoop& one = random_.pick(loops);
    const DrawnLoop& other = random_.pick(loops);
    switch (random_.between(0, 4)) {
      case 0:
        return one.subscript() + " % 2 == " + std::to_string(random_.between(0, 1));
      case 1:
        return one.subscript() + " >= " + std::to_string(random_.between(1, 3));
      case 2:
        return &one == &other ? one.subscript() + " < 2" : one.subscript() + " <= " + other.subscript();
      case 3:
        return one.subscript() + " + " + other.subscript() + " < " + one.extent;
      default:
        return one.subscript() + " < " + std::to_string(random_.between(1, 4));
    }
  }

  std::vector<const Array*> readable(const std::string& type) {
    std::vector<const Array*> found;
    for (const Array& array : arrays_)
      if (array.is_written && array.type == type && array.depth >= 0 && array.depth <= depth()) found.push_back(&array);
    return found;
  }

  // A readable tensor, or an input.
  std::string read(const std::vector<DrawnLoop>& loops, int old_percent) {
    const auto old = readable(type_);
    if (old.empty() || !random_.chance(old_percent)) return input(loops, type_);
    const Array& array = *old[old.size() - 1 - (random_.chance(60) ? 0 : random_.below(old.size()))];
    std::string first = element(array, loops, 70);
    if (!random_.chance(12) || array.shape.size() > 2) return first;
    return first + " + " + again(array, loops);
  }

  // One element twice, each time under another condition.
  std::string again(const Array& array, const std::vector<DrawnLoop>& loops) {
    std::vector<std::string> places;
    for (const std::string& extent : array.shape) {
      const DrawnLoop* loop = loop_of(loops, extent);
      const DrawnLoop& any = loop ? *loop : random_.pick(loops);
      places.push_back(with_offset(any.name, random_.between(-1, 1) - any.low));
    }
    const std::string plain = "(" + array.name + "[" + join_words(places) + "] else " + literal() + ")";
    const std::string under = guarded(array, places, loops);
    return random_.chance(60) ? under + " + " + plain : plain + " + " + under;
  }

  std::string value(const std::vector<DrawnLoop>& loops, int old_percent) {
    const int form = random_.between(0, 99);
    if (form < 40) return read(loops, old_percent);
    if (form < 62) return read(loops, old_percent) + (random_.chance(60) ? " + " : " - ") + read(loops, old_percent);
    if (form < 76) return "(" + read(loops, old_percent) + ") * (" + read(loops, old_percent) + ")";
    if (form < 84) return "max(" + read(loops, old_percent) + ", " + read(loops, old_percent) + ")";
    if (form < 90) return "(" + read(loops, old_percent) + ") * " + literal();
    if (form < 95) return "select(" + truth(loops) + ", " + read(loops, old_percent) + ", " + literal() + ")";
    return random_.chance(50) ? literal() : "(" + read(loops, old_percent) + " - " + random_.pick(loops).name + ")";
  }
  // Floats stay whole and small, whatever is added up.
  std::string clamped(const std::string& value) { return is_integer_ ? value : "min(max(" + value + ", -6), 6)"; }

  std::string truth(const std::vector<DrawnLoop>& loops) {
    const auto old = readable("bool");
    if (!old.empty() && random_.chance(50)) return element(*random_.pick(old), loops, 80);
    if (random_.chance(15)) return input(loops, "bool");
    return read(loops, 50) + (random_.chance(50) ? " < " : " != ") + literal();
  }

  // --- statements

  std::string clauses(const std::vector<DrawnLoop>& loops, int percent) {
    std::string text;
    if (random_.chance(percent)) text += "  if " + condition(loops);
    if (random_.chance(percent)) text += "  when " + truth(loops);
    return text;
  }

  // `is_whole`: every element, whatever the data.
  void assignment(const Array& array, bool is_whole) {
    const std::vector<DrawnLoop> loops = loops_over(array.shape);
    std::string text = fresh("I") + ": " + array.name + "[" + join_words(subscripts(loops)) + "] = ";
    if (array.type == "bool")
      text += random_.chance(50) ? "false" : is_whole ? "true" : truth(loops);
    else
      text += random_.chance(60) ? literal() : is_whole ? clamped(input(loops, type_)) : clamped(value(loops, 60));
    emit(text + ranges(loops) + (is_whole ? "" : clauses(loops, 12)));
  }

  std::string combiner(const Array& array) {
    static const std::vector<std::string> kAny = {" += ", " += ", " += ", " += ", " max= ", " min= "};
    if (array.type == "bool") return random_.chance(50) ? " or= " : " and= ";
    if (is_integer_ && random_.chance(15))
      return random_.pick(std::vector<std::string>{" *= ", " *= ", " and= ", " or= "});
    return random_.pick(kAny);
  }

  void update(const Array& array) {
    std::vector<DrawnLoop> loops = loops_over(array.shape);
    const std::vector<std::string> own = subscripts(loops);
    if (random_.chance(80)) loops.push_back(reduction("k"));
    if (random_.chance(15)) loops.push_back(reduction("r"));
    // Its own element or a neighbour of it in the value, now and then.
    const std::string term = array.type == "bool" ? truth(loops)
                             : random_.chance(18) ? value(loops, 10) + " - " + element(array, loops, 75)
                                                  : value(loops, 30);
    const std::string tail =
        random_.chance(8) ? "  when " + element(array, loops, 75) + compared(array) : clauses(loops, 10);
    emit(fresh("U") + ": " + array.name + "[" + join_words(own) + "]" + combiner(array) + bounded(array, term) +
         ranges(loops) + tail);
  }
  std::string compared(const Array& array) { return array.type == "bool" ? "" : " < " + literal(); }
  std::string bounded(const Array& array, const std::string& term) {
    return array.type == "bool" ? term : clamped(term);
  }

  // y[i] = f(acc[i]); a new tensor, or one with the region's iterator in front.
  void consumer(const Array& array) {
    std::vector<DrawnLoop> loops = loops_over(array.shape);
    const bool by_region = !regions_.empty() && array.shape.size() < kMostDimensions && random_.chance(50);
    if (by_region) loops.insert(loops.begin(), regions_.back());
    std::vector<std::string> shape;
    for (const DrawnLoop& loop : loops) shape.push_back(loop.extent);
    Array result{fresh("y"), array.type, shape, depth(), true};
    const bool inner_use = array.type != "bool" && random_.chance(15);
    std::string text = fresh("Y") + ": " + result.name + "[" + join_words(subscripts(loops)) + "]";
    if (by_region) loops.erase(loops.begin());
    std::string used = element(array, loops, 78);
    if (array.type != "bool" && random_.chance(60))
      used = "(" + used + ")" + (random_.chance(50) ? " * 2" : " + " + value(loops, 40));
    if (array.type != "bool" && random_.chance(12)) used = "(" + used + ") + " + again(array, loops);
    if (inner_use) loops.push_back(reduction("k"));
    if (inner_use) {
      declare("inout", result.name, result.type, shape);
      emit(text + " += " + clamped(used) + ranges(loops));
    } else {
      if (by_region)
        declare("inout", result.name, result.type, shape);
      else if (regions_.empty() && random_.chance(30))
        declare("out", result.name, result.type, shape);
      else
        declare("temp", result.name, result.type, shape);
      emit(text + " = " + bounded(array, used) + ranges(loops));
    }
    if (declarations_.back().rfind("inout", 0) == 0) result.depth = 0;
    arrays_.push_back(result);
  }

  // acc[at[k]] += .., acc[k // 2] += .., acc[(i + k) % 3] = ..
  void scatter(const Array& array) {
    const DrawnLoop loop{"n", random_.chance(50) ? array.shape[0] : "K", random_.chance(10) ? -1 : 0};
    std::vector<std::string> places;
    std::vector<DrawnLoop> loops = {loop};
    const int form = random_.between(0, 99);
    if (form < 60 || array.shape[0] == "2") {
      places.push_back(selected(array, loop));
    } else if (array.shape[0] == "3") {
      places.push_back("(" + loop.subscript() + (form < 80 ? ") % 3" : " + 1) % 3"));
    } else {
      loops[0].extent = array.shape[0];
      places.push_back(loop.low < 0 ? "n // 2 + 1" : "n // 2");
    }
    for (std::size_t d = 1; d < array.shape.size(); ++d) {
      loops.push_back({kNames[d], array.shape[d], 0});
      places.push_back(loops.back().name);
    }
    const bool assigns = random_.chance(15);
    std::string text =
        fresh("H") + ": " + array.name + "[" + join_words(places) + "]" + (assigns ? " = " : combiner(array));
    text += array.type == "bool" ? truth(loops) : clamped(value(loops, 20));
    if (array.type != "bool" && random_.chance(20) && array.shape.size() == 1 && array.shape[0] != "3")
      emit(text + ranges(loops) + "  when " + array.name + "[" + selected(array, loops[0]) + "] < " + literal());
    else
      emit(text + ranges(loops) + clauses(loops, 8));
  }
  std::string selected(const Array& array, const DrawnLoop& loop) {
    if (std::isalpha(static_cast<unsigned char>(array.shape[0].front()))) selected_from_.insert(array.shape[0]);
    return position(loop);
  }

  void mask(const Array& array) {
    const std::vector<DrawnLoop> loops = loops_over(array.shape);
    Array result{fresh("m"), "bool", array.shape, depth(), true};
    declare("temp", result.name, "bool", result.shape);
    emit(fresh("B") + ": " + result.name + "[" + join_words(subscripts(loops)) + "] = " +
         (array.type == "bool" ? truth(loops) : element(array, loops, 90) + " < " + literal()) + ranges(loops));
    arrays_.push_back(result);
  }

  void statement() {
    std::vector<Array> targets;
    for (const Array& array : arrays_)
      if (array.is_written && array.type != "position" && array.depth >= 0 && array.depth <= depth() &&
          (array.name[0] == 'a' || random_.chance(15)))
        targets.push_back(array);
    const Array array = random_.pick(targets);
    const int form = random_.between(0, 99);
    if (form < 22)
      assignment(array, random_.chance(80));
    else if (form < 60)
      update(array);
    else if (form < 86)
      consumer(array);
    else if (form < 95)
      scatter(array);
    else
      mask(array);
  }

  void statements(int count) {
    for (; count > 0; --count) statement();
  }

  // Statements, or a region of statements and perhaps another region.
  void part() {
    if (random_.chance(55)) return statements(random_.between(1, 3));
    region();
  }
  void region() {
    const std::string name = depth() == 0 ? "t" : "u";
    DrawnLoop loop{name, depth() == 0 ? "T" : "2", 0};
    if (random_.chance(10)) loop.low = -1;
    const bool is_triangle = depth() > 0 && regions_.back().low == 0 && random_.chance(40);
    if (is_triangle) loop = {name, "T", 0};
    emit("loop " + (is_triangle ? name + " in " + regions_.back().name + ".." + loop.extent : loop.range()) +
         (random_.chance(20) ? " step -1" : ""));
    regions_.push_back(loop);
    statements(random_.between(1, 3));
    if (depth() < 2 && random_.chance(20)) {
      region();
      if (random_.chance(50)) statement();
    }
    for (Array& array : arrays_)
      if (array.depth >= depth()) array.depth = -1;
    regions_.pop_back();
  }

  // What nobody reads has to be seen: an output reads the accumulators at last.
  void finish_reads() {
    for (std::size_t i = 0; i < arrays_.size(); ++i) {
      const Array array = arrays_[i];
      const bool is_temp = std::any_of(declarations_.begin(), declarations_.end(), [&](const std::string& d) {
        return d.rfind("temp  " + array.name + ":", 0) == 0;
      });
      if (!is_temp || array.depth != 0 || (read_.count(array.name) && random_.chance(60))) continue;
      const std::vector<DrawnLoop> loops = loops_over(array.shape);
      const std::string name = fresh("z");
      declare("out", name, array.type, array.shape);
      const std::string place = "[" + join_words(subscripts(loops)) + "]";
      emit("Z" + name + ": " + name + place + " = " + array.name + place + ranges(loops));
    }
  }

  std::string text() const {
    std::string context;
    for (const std::string& size : selected_from_) context += (context.empty() ? " where " : " and ") + size + " >= 1";
    std::string result = "program f(M, N, K, P, T)" + context + "\n";
    const auto add = [&](bool temporaries) {
      for (const std::string& line : declarations_)
        if ((line.rfind("temp", 0) == 0) == temporaries) result += "  " + line + "\n";
    };
    add(false), add(true);
    result += "\n";
    for (const std::string& line : body_) result += "  " + line + "\n";
    return result;
  }
};

}  // namespace

RandomProgram random_updates(Random& random) { return Writer(random).write(); }

}  // namespace polyte::fuzz
