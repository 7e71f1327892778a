#include "driver/judge/fuzz/update_draft.h"

namespace polyte::fuzz {

// Integers two times of three: their sums have the same bits in any order, so far more scripts
// are legal for them. Small types wrap, which shows what a wrong width computes.
UpdateDraft::UpdateDraft(Random& random) : random_(random) {
  static const std::vector<std::string> kIntegers = {"i32", "i32", "i32", "i64",
                                                     "u8",  "i16", "u32"};
  is_integer_ = random_.chance(65);
  type_ = is_integer_ ? random_.pick(kIntegers) : random_.chance(75) ? "f32" : "f64";
}

void UpdateDraft::declare(const std::string& role, const std::string& name, const std::string& type,
                          const std::vector<std::string>& shape) {
  declarations_.push_back(role + std::string(6 - role.size(), ' ') + name + ": " + type + "[" +
                          join_words(shape) + "]");
}

void UpdateDraft::emit(const std::string& line) {
  body_.push_back(std::string(2 * regions_.size(), ' ') + line);
}

// Sizes by name mostly, a literal at times: a constant extent takes other paths through proof
// and code than a parameter does.
std::vector<std::string> UpdateDraft::random_shape() {
  std::vector<std::string> shape = {random_.chance(85) ? "M" : "3"};
  if (random_.chance(25)) shape.push_back(random_.chance(80) ? "N" : "2");
  return shape;
}

// A loop that begins below zero still has the tensor's extent, so that `i - low` is a subscript
// of it.
std::vector<DrawnLoop> UpdateDraft::loops_over(const std::vector<std::string>& shape) {
  std::vector<DrawnLoop> loops;
  for (std::size_t d = 0; d < shape.size(); ++d)
    loops.push_back(
        {kDimensionNames[d], shape[d], random_.chance(7) ? random_.between(-2, -1) : 0});
  return loops;
}

DrawnLoop UpdateDraft::reduction(const std::string& name) {
  static const std::vector<std::string> kExtents = {"K", "K", "K", "P", "N", "2"};
  return {name, random_.pick(kExtents), random_.chance(7) ? -1 : 0};
}

std::vector<std::string> UpdateDraft::subscripts(const std::vector<DrawnLoop>& loops) {
  std::vector<std::string> result;
  for (const DrawnLoop& loop : loops) result.push_back(loop.subscript());
  return result;
}

std::string UpdateDraft::ranges(const std::vector<DrawnLoop>& loops) {
  std::vector<std::string> result;
  for (const DrawnLoop& loop : loops) result.push_back(loop.range());
  return "  for " + join_words(result);
}

// Any subset of the loops, with a region's iterator in front at times: an input that does not
// depend on all of them, or that changes from one iteration of a region to the next. One input
// is reused where the same is wanted again, so that statements share what they read.
std::string UpdateDraft::input(std::vector<DrawnLoop> loops, const std::string& type) {
  for (const DrawnLoop& region : regions_)
    if (random_.chance(60)) loops.insert(loops.begin(), region);
  while (loops.size() > 1 && random_.chance(20))
    loops.erase(loops.begin() + static_cast<std::ptrdiff_t>(random_.below(loops.size())));
  std::vector<std::string> shape;
  for (const DrawnLoop& loop : loops) shape.push_back(loop.extent);
  for (const DrawnArray& known : arrays_)
    if (!known.is_written && known.type == type && known.shape == shape && random_.chance(60))
      return known.name + "[" + join_words(subscripts(loops)) + "]";
  const DrawnArray array{fresh("a"), type, shape, 0, false};
  declare("in", array.name, type, shape);
  arrays_.push_back(array);
  return array.name + "[" + join_words(subscripts(loops)) + "]";
}

// An input of positions; a quarter of them are copied to a temporary first, so that a subscript
// is read from what the Program itself has computed.
std::string UpdateDraft::position(const DrawnLoop& loop) {
  const std::string name = fresh("at");
  const std::string type = random_.chance(50) ? "i32" : "i64";
  declare("in", name, type, {loop.extent});
  if (!random_.chance(25)) return name + "[" + loop.subscript() + "]";
  const std::string copy = fresh("q");  // read back from a temporary
  emit("Q" + copy + ": " + copy + "[" + loop.subscript() + "] = " + name + "[" + loop.subscript() +
       "]  for " + loop.range());
  // Its own type keeps it from being drawn as a value or as a target.
  arrays_.push_back({copy, "position", {loop.extent}, depth(), true});
  read_.insert(copy);
  return copy + "[" + loop.subscript() + "]";
}

// Any loop or region over this extent: only those are certainly inside of a dimension of it.
const DrawnLoop* UpdateDraft::loop_of(const std::vector<DrawnLoop>& loops,
                                      const std::string& extent) {
  std::vector<const DrawnLoop*> found;
  for (const DrawnLoop& loop : loops)
    if (loop.extent == extent) found.push_back(&loop);
  for (const DrawnLoop& region : regions_)
    if (region.extent == extent) found.push_back(&region);
  return found.empty() ? nullptr : random_.pick(found);
}

// Beside the element of these loops there are neighbours at distance 1, which need `else`, since
// the first or last one has none. `form` decides once for all dimensions whether there are any.
std::string UpdateDraft::element(const DrawnArray& array, const std::vector<DrawnLoop>& loops,
                                 int own_percent) {
  read_.insert(array.name);
  const int form = random_.between(0, 99);
  std::vector<std::string> places;
  bool is_padded = false;
  // A dimension without a loop of its extent is padded by necessity, others by choice.
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

std::string UpdateDraft::gathered(const DrawnLoop& loop) {
  const std::string name = fresh("at");
  declare("in", name, "i32", {loop.extent});
  return name + "[" + loop.subscript() + "]";
}

// The bounds of every dimension as conditions, and one condition more, so that the guard is not
// the tensor's own bounds alone.
std::string UpdateDraft::guarded(const DrawnArray& array, const std::vector<std::string>& places,
                                 const std::vector<DrawnLoop>& loops) {
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

// Parity, halves, triangles and anti-diagonals: domains that are not boxes.
std::string UpdateDraft::condition(const std::vector<DrawnLoop>& loops) {
  const DrawnLoop& one = random_.pick(loops);
  const DrawnLoop& other = random_.pick(loops);
  switch (random_.between(0, 4)) {
    case 0:
      return one.subscript() + " % 2 == " + std::to_string(random_.between(0, 1));
    case 1:
      return one.subscript() + " >= " + std::to_string(random_.between(1, 3));
    case 2:
      return &one == &other ? one.subscript() + " < 2"
                            : one.subscript() + " <= " + other.subscript();
    case 3:
      return one.subscript() + " + " + other.subscript() + " < " + one.extent;
    default:
      return one.subscript() + " < " + std::to_string(random_.between(1, 4));
  }
}

// What an array that is defined in an inner region holds is not defined outside of it; depth -1
// marks those.
std::vector<const DrawnArray*> UpdateDraft::readable(const std::string& type) {
  std::vector<const DrawnArray*> found;
  for (const DrawnArray& array : arrays_)
    if (array.is_written && array.type == type && array.depth >= 0 && array.depth <= depth())
      found.push_back(&array);
  return found;
}

std::string UpdateDraft::read(const std::vector<DrawnLoop>& loops, int old_percent) {
  const auto old = readable(type_);
  if (old.empty() || !random_.chance(old_percent)) return input(loops, type_);
  // The newest six times of ten: chains of dependences are longer then.
  const DrawnArray& array =
      *old[old.size() - 1 - (random_.chance(60) ? 0 : random_.below(old.size()))];
  std::string first = element(array, loops, 70);
  if (!random_.chance(12) || array.shape.size() > 2) return first;
  return first + " + " + again(array, loops);
}

// Both reads may be outside, each with its own answer for that: a proof that takes them for one
// read of one cell is wrong.
std::string UpdateDraft::again(const DrawnArray& array, const std::vector<DrawnLoop>& loops) {
  std::vector<std::string> places;
  for (const std::string& extent : array.shape) {
    const DrawnLoop* loop = loop_of(loops, extent);
    const DrawnLoop& any = loop ? *loop : random_.pick(loops);
    places.push_back(with_offset(any.name, random_.between(-1, 1) - any.low));
  }
  const std::string plain =
      "(" + array.name + "[" + join_words(places) + "] else " + literal() + ")";
  const std::string under = guarded(array, places, loops);
  return random_.chance(60) ? under + " + " + plain : plain + " + " + under;
}

// Depth one: an operand is a read, since what is tested are accesses and orders, not
// arithmetic.
std::string UpdateDraft::value(const std::vector<DrawnLoop>& loops, int old_percent) {
  const int form = random_.between(0, 99);
  if (form < 40) return read(loops, old_percent);
  if (form < 62)
    return read(loops, old_percent) + (random_.chance(60) ? " + " : " - ") +
           read(loops, old_percent);
  if (form < 76) return "(" + read(loops, old_percent) + ") * (" + read(loops, old_percent) + ")";
  if (form < 84) return "max(" + read(loops, old_percent) + ", " + read(loops, old_percent) + ")";
  if (form < 90) return "(" + read(loops, old_percent) + ") * " + literal();
  if (form < 95)
    return "select(" + truth(loops) + ", " + read(loops, old_percent) + ", " + literal() + ")";
  return random_.chance(50)
             ? literal()
             : "(" + read(loops, old_percent) + " - " + random_.pick(loops).name + ")";
}

// Floats are bounded to [-6, 6] before they are added up, so that sums of the few terms there
// are stay exact.
std::string UpdateDraft::clamped(const std::string& value) {
  return is_integer_ ? value : "min(max(" + value + ", -6), 6)";
}

std::string UpdateDraft::truth(const std::vector<DrawnLoop>& loops) {
  const auto old = readable("bool");
  if (!old.empty() && random_.chance(50)) return element(*random_.pick(old), loops, 80);
  if (random_.chance(15)) return input(loops, "bool");
  return read(loops, 50) + (random_.chance(50) ? " < " : " != ") + literal();
}

}  // namespace polyte::fuzz
