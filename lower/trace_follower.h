// Follows values through one execution of loops: what each element was made from. Internal
// to trace_check.cc.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ir/interpret.h"
#include "lower/trace_check.h"

namespace polyte::lower {

using Point = std::vector<std::int64_t>;
using Sources = std::vector<int>;  // sorted: what a value was made from, by number in Known

inline std::string list(const Point& point) {
  std::string text;
  for (std::size_t i = 0; i < point.size(); ++i) text += (i ? ", " : "") + std::to_string(point[i]);
  return text;
}

// A set of instances as a sum of their random numbers: the same whatever the order, another one
// where an instance is missing or counts twice. A homomorphic hash of a multiset, of 128 bits and
// the count: adding one update costs the same however many there are, and two different sets agree
// by accident only.
struct InstanceSum {
  std::uint64_t low = 0, high = 0;
  int count = 0;
  auto operator<=>(const InstanceSum&) const = default;

  InstanceSum with(int instance) const {
    const auto number = static_cast<std::uint64_t>(instance);
    return {low + random(2 * number + 1), high + random(2 * number + 2), count + 1};
  }

 private:
  static std::uint64_t random(std::uint64_t x) {  // splitmix64
    x += 0x9e3779b97f4a7c15U * (x + 1);
    x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9U;
    x = (x ^ (x >> 27U)) * 0x94d049bb133111ebU;
    return x ^ (x >> 31U);
  }
};

// Where a value comes from: an element of an input, an instance, or the updates of one generation
// of an element. A generation is known by what its first update found there (`start`), its updates
// by their sum.
struct Source {
  enum class Kind { Input, Instance, Updates } kind = Kind::Input;
  int name = 0;  // of the input, the statement or the kind of update
  Point at;      // index, iterators; {position} of the element that is updated
  Sources start = {};
  InstanceSum sum = {};
  auto operator<=>(const Source&) const = default;
};

// Numbers of sources, the same for both executions: what is equal has one number, so that sets of
// sources are compared as sets of numbers. For an update also its predecessor is kept (`Made`), a
// chain through the generation for messages and for checks of order.
class Known {
 public:
  int name(const std::string& text) {
    const auto [at, is_new] = name_numbers_.try_emplace(text, static_cast<int>(names_.size()));
    if (is_new) names_.push_back(text);
    return at->second;
  }
  int number(const Source& source) { return numbered(source, {}); }
  // The generation `before` (or a new one, with these sources as its start) after one more update.
  int updated(int group, std::int64_t element, const Sources& own, int before, int instance) {
    Source next{Source::Kind::Updates, group, {element}, {}, {}};
    if (before >= 0) {
      next.start = (*this)[before].start;
      next.sum = (*this)[before].sum;
    } else {
      next.start = own;
    }
    next.sum = next.sum.with(instance);
    return numbered(next, {before, instance});
  }
  const Source& operator[](int number) const { return *sources_[static_cast<std::size_t>(number)]; }

  // The instances of a generation, latest first.
  template <class F>
  void for_each_update(int number, const F& f) const {
    for (; number >= 0; number = made_[static_cast<std::size_t>(number)].before)
      if (const int instance = made_[static_cast<std::size_t>(number)].instance; instance >= 0)
        f(instance);
  }

  std::string text(int number) const {
    const Source& source = (*this)[number];
    const std::string& name = names_[static_cast<std::size_t>(source.name)];
    if (source.kind == Source::Kind::Input) return "input " + name + "[" + list(source.at) + "]";
    if (source.kind == Source::Kind::Instance) return name + "(" + list(source.at) + ")";
    const Made& made = made_[static_cast<std::size_t>(number)];
    return std::to_string(source.sum.count) + (source.sum.count == 1 ? " update" : " updates") +
           " of the generation that began with " + text(source.start) + ", the last one " +
           text(made.instance);
  }
  std::string text(const Sources& sources) const {
    std::string result;
    for (const int source : sources) result += (result.empty() ? "" : ", ") + text(source);
    return result.empty() ? "nothing" : result;
  }

 private:
  struct Made {
    int before = -1, instance = -1;
  };
  struct Hash {
    std::size_t operator()(const Source& s) const {
      std::uint64_t h =
          static_cast<std::uint64_t>(s.name) * 3 + static_cast<std::uint64_t>(s.kind) + s.sum.low;
      for (const std::int64_t i : s.at)
        h = (h ^ static_cast<std::uint64_t>(i)) * 0x9e3779b97f4a7c15U;
      for (const int i : s.start) h = (h ^ static_cast<std::uint64_t>(i)) * 0x9e3779b97f4a7c15U;
      return h ^ (h >> 29U);
    }
  };
  std::unordered_map<std::string, int> name_numbers_;
  std::vector<std::string> names_;
  std::unordered_map<Source, int, Hash> numbers_;
  std::vector<const Source*> sources_;  // the keys above
  std::vector<Made> made_;

  int numbered(const Source& source, const Made& made) {
    const auto [at, is_new] = numbers_.try_emplace(source, static_cast<int>(sources_.size()));
    if (is_new) sources_.push_back(&at->first), made_.push_back(made);
    return at->second;
  }
};

// Numbers of sources; they are dense.
class NumberSet {
 public:
  // Whether it is new.
  bool insert(int number) {
    const auto at = static_cast<std::size_t>(number);
    if (at >= is_in_.size()) is_in_.resize(std::max(at + 1, 2 * is_in_.size()));
    const bool is_new = !is_in_[at];
    is_in_[at] = true;
    return is_new;
  }
  bool contains(int number) const {
    const auto at = static_cast<std::size_t>(number);
    return at < is_in_.size() && is_in_[at];
  }

 private:
  std::vector<bool> is_in_;
};

inline void unite(Sources& into, const Sources& more) {
  if (more.size() == 1 && !into.empty()) {
    if (const auto at = std::ranges::lower_bound(into, more[0]); at == into.end() || *at != more[0])
      into.insert(at, more[0]);
  } else if (into.empty()) {
    into = more;
  } else if (!more.empty()) {
    Sources all;
    std::ranges::set_union(into, more, std::back_inserter(all));
    into = std::move(all);
  }
}

// What each element of one execution was made from.
class Follower {
 public:
  Follower(const ir::Program& program, Known& known) : known_(known) {
    for (const ir::Buffer* buffer : program.interface())
      if (buffer->role != ir::Role::Out) buffers_[buffer->name].input = known.name(buffer->name);
  }

  const Sources& of(const ir::Event::Cell& cell) {
    return of(cell.buffer, cell.position, cell.index);
  }
  const Sources& of(const std::string& buffer, std::int64_t position, const Point& index) {
    Buffer& known = buffer_of(buffer);
    Element& element = at(known, position);
    if (!element.is_set && known.input >= 0)
      element = {true, {known_.number({Source::Kind::Input, known.input, index, {}, {}})}};
    return element.sources;
  }
  void set(const ir::Event::Cell& cell, Sources sources) {
    at(buffer_of(cell.buffer), cell.position) = {true, std::move(sources)};
  }

 private:
  struct Element {
    bool is_set = false;
    Sources sources;
  };
  struct Buffer {
    int input = -1;  // its name, where it is one
    std::vector<Element> elements;
  };
  Known& known_;
  std::unordered_map<std::string, Buffer> buffers_;

  Buffer& buffer_of(const std::string& name) { return buffers_[name]; }
  static Element& at(Buffer& buffer, std::int64_t position) {
    const auto i = static_cast<std::size_t>(position);
    if (i >= buffer.elements.size()) buffer.elements.resize(i + 1 + buffer.elements.size() / 2);
    return buffer.elements[i];
  }
};

}  // namespace polyte::lower
