#include "driver/judge/fuzz/random_updates.h"

#include <algorithm>
#include <cctype>

#include "driver/judge/fuzz/update_draft.h"

namespace polyte::fuzz {
namespace {

class Writer : private UpdateDraft {
 public:
  explicit Writer(Random& random) : UpdateDraft(random) {}

  // Either one element that is updated again and again, or accumulators and a few parts that
  // use them.
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
  DrawnArray accumulator(int temp_percent) {
    const bool is_bool = random_.chance(8);
    DrawnArray array{fresh("acc"), is_bool ? "bool" : type_, random_shape(), 0, true};
    const std::string role = random_.chance(temp_percent) ? "temp"
                             : random_.chance(62)         ? "inout"
                                                          : "out";
    declare(role, array.name, array.type, array.shape);
    if (role != "inout" || random_.chance(40)) assignment(array, true);
    arrays_.push_back(array);
    return array;
  }

  // One element updated a few times, in one way or in several, and read at last; in between
  // now and then.
  void column() {
    const DrawnArray array = accumulator(100);
    for (int updates = random_.between(2, 3); updates > 0; --updates) {
      update(array);
      if (updates > 1 && random_.chance(25)) consumer(array);
    }
    if (random_.chance(60)) consumer(array);
  }

  std::string clauses(const std::vector<DrawnLoop>& loops, int percent) {
    std::string text;
    if (random_.chance(percent)) text += "  if " + condition(loops);
    if (random_.chance(percent)) text += "  when " + truth(loops);
    return text;
  }

  // `is_whole`: every element, whatever the data.
  void assignment(const DrawnArray& array, bool is_whole) {
    const std::vector<DrawnLoop> loops = loops_over(array.shape);
    std::string text =
        fresh("I") + ": " + array.name + "[" + join_words(subscripts(loops)) + "] = ";
    if (array.type == "bool")
      text += random_.chance(50) ? "false" : is_whole ? "true" : truth(loops);
    else
      text += random_.chance(60) ? literal()
              : is_whole         ? clamped(input(loops, type_))
                                 : clamped(value(loops, 60));
    emit(text + ranges(loops) + (is_whole ? "" : clauses(loops, 12)));
  }

  // Sums above all, for they may be reordered; `*=`, `and=` and `or=` of integers wrap or keep
  // bits, so they are exact too.
  std::string combiner(const DrawnArray& array) {
    static const std::vector<std::string> kAny = {
        " += ", " += ", " += ", " += ", " max= ", " min= "};
    if (array.type == "bool") return random_.chance(50) ? " or= " : " and= ";
    if (is_integer_ && random_.chance(15))
      return random_.pick(std::vector<std::string>{" *= ", " *= ", " and= ", " or= "});
    return random_.pick(kAny);
  }

  // 80 of 100 sum over k, and 15 over r.
  void update(const DrawnArray& array) {
    std::vector<DrawnLoop> loops = loops_over(array.shape);
    const std::vector<std::string> own = subscripts(loops);
    if (random_.chance(80)) loops.push_back(reduction("k"));
    if (random_.chance(15)) loops.push_back(reduction("r"));
    // Its own element or a neighbour of it in the value, now and then.
    const std::string term = array.type == "bool" ? truth(loops)
                             : random_.chance(18)
                                 ? value(loops, 10) + " - " + element(array, loops, 75)
                                 : value(loops, 30);
    const std::string tail = random_.chance(8)
                                 ? "  when " + element(array, loops, 75) + compared(array)
                                 : clauses(loops, 10);
    emit(fresh("U") + ": " + array.name + "[" + join_words(own) + "]" + combiner(array) +
         bounded(array, term) + ranges(loops) + tail);
  }
  std::string compared(const DrawnArray& array) {
    return array.type == "bool" ? "" : " < " + literal();
  }
  std::string bounded(const DrawnArray& array, const std::string& term) {
    return array.type == "bool" ? term : clamped(term);
  }

  // y[i] = f(acc[i]); a new tensor, or one with the region's iterator in front.
  void consumer(const DrawnArray& array) {
    std::vector<DrawnLoop> loops = loops_over(array.shape);
    const bool by_region =
        !regions_.empty() && array.shape.size() < kMostDimensions && random_.chance(50);
    if (by_region) loops.insert(loops.begin(), regions_.back());
    std::vector<std::string> shape;
    for (const DrawnLoop& loop : loops) shape.push_back(loop.extent);
    DrawnArray result{fresh("y"), array.type, shape, depth(), true};
    const bool inner_use = array.type != "bool" && random_.chance(15);
    std::string text = fresh("Y") + ": " + result.name + "[" + join_words(subscripts(loops)) + "]";
    if (by_region) loops.erase(loops.begin());
    std::string used = element(array, loops, 78);
    if (array.type != "bool" && random_.chance(60))
      used = "(" + used + ")" + (random_.chance(50) ? " * 2" : " + " + value(loops, 40));
    if (array.type != "bool" && random_.chance(12))
      used = "(" + used + ") + " + again(array, loops);
    if (inner_use) loops.push_back(reduction("k"));
    if (inner_use) {
      declare("inout", result.name, result.type, shape);
      emit(text + " += " + clamped(used) + ranges(loops));
    } else {
      // With the region's iterator in front the result is filled slice by slice over the
      // region.
      if (by_region)
        declare("inout", result.name, result.type, shape);
      else if (regions_.empty() && random_.chance(30))
        declare("out", result.name, result.type, shape);
      else
        declare("temp", result.name, result.type, shape);
      emit(text + " = " + bounded(array, used) + ranges(loops));
    }
    // An inout tensor is defined before the Program, so it may be read anywhere.
    if (declarations_.back().rfind("inout", 0) == 0) result.depth = 0;
    arrays_.push_back(result);
  }

  // acc[at[n]] += .., acc[n // 2] += .., acc[(n + 1) % 3] = ..
  // Several points may write one element: an assignment then depends on their order, an update
  // mostly does not.
  void scatter(const DrawnArray& array) {
    const DrawnLoop loop{"n", random_.chance(50) ? array.shape[0] : "K",
                         random_.chance(10) ? -1 : 0};
    std::vector<std::string> places;
    std::vector<DrawnLoop> loops = {loop};
    const int form = random_.between(0, 99);
    // Every subscript stays inside: what is read from memory is a position that the context keeps
    // within the extent, (n + 1) % 3 is below 3, and n // 2 of 0..M below M.
    if (form < 60 || array.shape[0] == "2") {
      places.push_back(selected(array, loop));
    } else if (array.shape[0] == "3") {
      places.push_back("(" + loop.subscript() + (form < 80 ? ") % 3" : " + 1) % 3"));
    } else {
      loops[0].extent = array.shape[0];
      places.push_back(loop.low < 0 ? "n // 2 + 1" : "n // 2");
    }
    for (std::size_t d = 1; d < array.shape.size(); ++d) {
      loops.push_back({kDimensionNames[d], array.shape[d], 0});
      places.push_back(loops.back().name);
    }
    const bool assigns = random_.chance(15);
    std::string text = fresh("H") + ": " + array.name + "[" + join_words(places) + "]" +
                       (assigns ? " = " : combiner(array));
    text += array.type == "bool" ? truth(loops) : clamped(value(loops, 20));
    if (array.type != "bool" && random_.chance(20) && array.shape.size() == 1 &&
        array.shape[0] != "3")
      emit(text + ranges(loops) + "  when " + array.name + "[" + selected(array, loops[0]) +
           "] < " + literal());
    else
      emit(text + ranges(loops) + clauses(loops, 8));
  }
  std::string selected(const DrawnArray& array, const DrawnLoop& loop) {
    if (std::isalpha(static_cast<unsigned char>(array.shape[0].front())))
      selected_from_.insert(array.shape[0]);
    return position(loop);
  }

  // A tensor of truth values, for `when` and `select`.
  void mask(const DrawnArray& array) {
    const std::vector<DrawnLoop> loops = loops_over(array.shape);
    DrawnArray result{fresh("m"), "bool", array.shape, depth(), true};
    declare("temp", result.name, "bool", result.shape);
    emit(fresh("B") + ": " + result.name + "[" + join_words(subscripts(loops)) + "] = " +
         (array.type == "bool" ? truth(loops) : element(array, loops, 90) + " < " + literal()) +
         ranges(loops));
    arrays_.push_back(result);
  }

  // Targets are what has been defined where this statement stands, accumulators above all.
  void statement() {
    // Accumulators are named acc*; other tensors that were written are targets at times.
    std::vector<DrawnArray> targets;
    for (const DrawnArray& array : arrays_)
      if (array.is_written && array.type != "position" && array.depth >= 0 &&
          array.depth <= depth() && (array.name[0] == 'a' || random_.chance(15)))
        targets.push_back(array);
    const DrawnArray array = random_.pick(targets);
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
  // At most two deep: `loop t in 0..T`, `loop u in 0..2`, or a triangle `loop u in t..T`.
  // Downwards one time of five.
  void region() {
    const std::string name = depth() == 0 ? "t" : "u";
    DrawnLoop loop{name, depth() == 0 ? "T" : "2", 0};
    if (random_.chance(10)) loop.low = -1;
    const bool is_triangle = depth() > 0 && regions_.back().low == 0 && random_.chance(40);
    if (is_triangle) loop = {name, "T", 0};
    emit("loop " +
         (is_triangle ? name + " in " + regions_.back().name + ".." + loop.extent : loop.range()) +
         (random_.chance(20) ? " step -1" : ""));
    regions_.push_back(loop);
    statements(random_.between(1, 3));
    if (depth() < 2 && random_.chance(20)) {
      region();
      if (random_.chance(50)) statement();
    }
    // What was first defined inside of the region is not defined behind it.
    for (DrawnArray& array : arrays_)
      if (array.depth >= depth()) array.depth = -1;
    regions_.pop_back();
  }

  // What nobody reads has to be seen: an output reads the accumulators at last.
  void finish_reads() {
    for (std::size_t i = 0; i < arrays_.size(); ++i) {
      const DrawnArray array = arrays_[i];
      const bool is_temp = std::ranges::any_of(declarations_, [&](const std::string& d) {
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

  // Declarations of the interface come before those of temporaries, as a Program lists them. A
  // size that positions select from has to be at least 1, else there is no position.
  std::string text() const {
    std::string context;
    for (const std::string& size : selected_from_)
      context += (context.empty() ? " where " : " and ") + size + " >= 1";
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
