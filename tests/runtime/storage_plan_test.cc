// Plans of random networks are run on bytes and compared with a run in which no value shares
// memory; plans that are spoilt afterwards are refused whenever they give other bytes.
#include "runtime/storage_plan.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <stdexcept>

namespace {

using namespace polyte::runtime;
using Share = StoragePlan::Share::Kind;

struct Network {
  std::vector<StoredValue> values;
  std::vector<StorageStep> steps;

  int value(std::int64_t bytes, Home home = Home::Arena) {
    values.push_back({bytes, home});
    return static_cast<int>(values.size()) - 1;
  }
  std::int64_t bytes(int v) const { return values[static_cast<std::size_t>(v)].bytes; }
  int compute(std::vector<int> reads, std::int64_t size, std::vector<int> in_place = {},
              Home home = Home::Arena) {
    const int result = value(size, home);
    StorageStep step{std::move(reads), {result}};
    for (const int operand : in_place) step.in_place.push_back({result, operand});
    steps.push_back(std::move(step));
    return result;
  }
  int concat(const std::vector<int>& parts, Home home = Home::Arena) {
    std::int64_t size = 0;
    std::vector<Copy> copies;
    for (const int part : parts) {
      copies.push_back({part, 0, static_cast<int>(values.size()), size, bytes(part)});
      size += bytes(part);
    }
    steps.push_back({parts, {value(size, home)}, std::move(copies)});
    return static_cast<int>(values.size()) - 1;
  }
  int slice(int of, std::int64_t offset, std::int64_t size) {
    const int result = value(size);
    steps.push_back({{of}, {result}, {{of, offset, result, 0, size}}});
    return result;
  }
  StoragePlan plan() const {
    StoragePlan plan = plan_storage(values, steps);
    CHECK(check_storage(values, steps, plan).empty());
    return plan;
  }
};

bool does_nothing(const StoragePlan& plan, std::size_t step) {
  return !plan.steps[step].runs && plan.steps[step].copies.empty();
}

TEST_CASE(
    "the parts of a concatenation are written where it wants them, and what it feeds lies over "
    "it") {
  Network n;
  const int x = n.value(64, Home::Given);
  const int f1 = n.compute({x}, 640), f2 = n.compute({f1}, 64);
  const int w = n.concat({f1, f2});
  const int y = n.compute({w}, 704, {w});
  n.compute({y}, 4, {}, Home::Output);
  const StoragePlan plan = n.plan();
  CHECK(does_nothing(plan, 2));
  CHECK(plan.places[2].offset == plan.places[1].offset + 640);
  CHECK(plan.shares[1].kind == Share::Part);
  CHECK(plan.shares[1].of == w);
  CHECK(plan.shares[4].kind == Share::InPlace);
  CHECK(plan.arena_bytes == 704);
}

TEST_CASE("concatenations that begin alike grow in one place") {
  Network n;
  const int x = n.value(64, Home::Given);
  std::vector<int> features{n.compute({x}, 128)};
  for (int i = 0; i < 10; ++i) features.push_back(n.compute({n.concat(features)}, 64));
  n.compute({n.concat(features)}, 4, {}, Home::Output);
  const StoragePlan plan = n.plan();
  for (std::size_t s = 1; s < n.steps.size(); s += 2) CHECK(does_nothing(plan, s));
  CHECK(plan.arena_bytes == 128 + 10 * 64);
}

TEST_CASE(
    "slices are views, of inputs too, and a result that is a view is written to the caller's "
    "memory") {
  Network n;
  const int x = n.value(256, Home::Given);
  const int half = n.slice(x, 128, 128);
  const int t = n.compute({half}, 128, {half});
  n.concat({t}, Home::Output);
  const StoragePlan plan = n.plan();
  CHECK(does_nothing(plan, 0));
  CHECK(plan.places[1].inside == x);
  CHECK(plan.places[1].offset == 128);
  CHECK(plan.places[2].inside == 3);
  CHECK(plan.shares[2].kind == Share::Own);  // nothing is written over an input
  CHECK(does_nothing(plan, 2));
  CHECK(plan.arena_bytes == 0);
}

TEST_CASE("what cannot share is copied") {
  Network n;
  const int x = n.value(64, Home::Given);
  const int t = n.compute({x}, 64);
  const int w = n.concat({t, x, t});  // of t, one; the input never
  n.compute({w}, 4, {}, Home::Output);
  n.concat({x}, Home::Output);
  const StoragePlan plan = n.plan();
  CHECK_FALSE(plan.steps[1].runs);
  REQUIRE(plan.steps[1].copies.size() == 2);
  CHECK(plan.steps[1].copies[0].from == x);
  CHECK(plan.steps[1].copies[1].to_offset == 128);
  CHECK(plan.steps[3].runs);
}

TEST_CASE("nothing is written over what is read later, by another operand's name, or twice") {
  Network n;
  const int x = n.value(64, Home::Given);
  const int a = n.compute({x}, 64), b = n.compute({x}, 64);
  const int sum = n.compute({a, b}, 64, {a, b});  // over b: a is read again
  const int view = n.slice(sum, 0, 64);
  const int square = n.compute({sum, view}, 64, {sum});  // `view` may be read after the write
  n.compute({a, square}, 64, {a}, Home::Output);
  const StoragePlan plan = n.plan();
  CHECK(plan.shares[3].kind == Share::InPlace);
  CHECK(plan.shares[3].of == b);
  CHECK(plan.shares[5].kind == Share::Own);
  CHECK(plan.places[1].inside == 6);  // a, under what is written over it
  CHECK(plan.arena_bytes == 2 * 64);
}

Network random_network(std::mt19937& random) {
  Network n;
  auto below = [&](std::size_t count) { return static_cast<int>(random() % count); };
  for (int i = below(3); i >= 0; --i) n.value(16 * (1 + below(8)), Home::Given);
  for (int s = 5 + below(20); s > 0; --s) {
    auto any = [&] { return below(n.values.size()); };
    auto some = [&] {
      std::vector<int> list{any()};
      while (random() % 2 == 0) list.push_back(any());
      return list;
    };
    const Home home = random() % 5 == 0 ? Home::Output : Home::Arena;
    const int v = any();
    switch (random() % 6) {
      case 0:
        n.concat(some(), home);
        break;
      case 1: {
        const std::int64_t offset = 4 * below(static_cast<std::size_t>(n.bytes(v)) / 4 + 1);
        n.slice(v, offset, n.bytes(v) - offset);
        break;
      }
      case 2:
        n.concat({v}, home);
        break;
      case 3:
        n.compute(some(), 16 * (1 + below(8)), {}, home);
        break;
      default: {
        std::vector<int> reads = some();
        reads.push_back(v);
        std::vector<int> in_place{v};
        for (const int r : reads) {
          if (r != v && n.bytes(r) == n.bytes(v)) in_place.push_back(r);
        }
        n.compute(reads, n.bytes(v), in_place, home);
      }
    }
  }
  return n;
}

// Every value by itself, every step as it is.
StoragePlan plan_without_sharing(const Network& n) {
  StoragePlan plan;
  for (std::size_t v = 0; v < n.values.size(); ++v) {
    const bool is_arena = n.values[v].home == Home::Arena;
    plan.places.push_back({is_arena ? -1 : static_cast<int>(v), is_arena ? plan.arena_bytes : 0});
    if (is_arena) plan.arena_bytes += n.values[v].bytes;
  }
  plan.steps.resize(n.steps.size());
  return plan;
}

class Execution {
 public:
  Execution(const Network& n, const StoragePlan& plan) : n_(n), plan_(plan) {
    arena_.resize(static_cast<std::size_t>(plan.arena_bytes), 0xee);
    for (std::size_t v = 0; v < n.values.size(); ++v) {
      own_.emplace_back(static_cast<std::size_t>(n.values[v].bytes), 0xdd);
      if (n.values[v].home != Home::Given) continue;
      for (std::size_t i = 0; i < own_[v].size(); ++i)
        own_[v][i] = static_cast<std::uint8_t>(31 * v + 7 * i);
    }
  }

  // The bytes of all outputs.
  std::vector<std::vector<std::uint8_t>> run() {
    for (std::size_t s = 0; s < n_.steps.size(); ++s) {
      const bool runs = plan_.steps[s].runs;
      for (const Copy& copy : runs ? n_.steps[s].copies : plan_.steps[s].copies) {
        for (std::int64_t i = 0; i < copy.bytes; ++i)
          at(copy.to, copy.to_offset + i) = at(copy.from, copy.from_offset + i);
      }
      if (runs && n_.steps[s].copies.empty()) compute(n_.steps[s]);
    }
    std::vector<std::vector<std::uint8_t>> outputs;
    for (std::size_t v = 0; v < n_.values.size(); ++v) {
      if (n_.values[v].home == Home::Output) outputs.push_back(own_[v]);
    }
    return outputs;
  }

 private:
  const Network& n_;
  const StoragePlan& plan_;
  std::vector<std::uint8_t> arena_;
  std::vector<std::vector<std::uint8_t>> own_;

  std::uint8_t& at(int v, std::int64_t i) {
    const StoragePlan::Place& place = plan_.places[static_cast<std::size_t>(v)];
    const auto where = static_cast<std::size_t>(place.offset + i);
    return place.inside < 0 ? arena_.at(where)
                            : own_[static_cast<std::size_t>(place.inside)].at(where);
  }

  // Operands that the result may lie over are read element by element, the others as a whole, to
  // the end of the step.
  void compute(const StorageStep& step) {
    const int result = step.writes[0];
    const std::int64_t size = n_.values[static_cast<std::size_t>(result)].bytes;
    for (std::int64_t i = 0; i < size; ++i) {
      auto sum = static_cast<std::uint8_t>(3 * i + result);
      for (const int r : step.reads) {
        const bool by_element =
            std::ranges::any_of(step.in_place, [&](const auto& pair) { return pair.operand == r; });
        const std::int64_t bytes = n_.values[static_cast<std::size_t>(r)].bytes;
        for (std::int64_t j = by_element ? i : 0; j < (by_element ? i + 1 : bytes); ++j)
          sum = static_cast<std::uint8_t>(5 * sum + at(r, j));
      }
      at(result, i) = sum;
    }
  }
};

TEST_CASE("random networks compute in shared memory what they compute in memory of their own") {
  std::mt19937 random(23);
  for (int round = 0; round < 2000; ++round) {
    CAPTURE(round);
    const Network n = random_network(random);
    const StoragePlan plan = n.plan();
    REQUIRE(Execution(n, plan).run() == Execution(n, plan_without_sharing(n)).run());
  }
}

TEST_CASE("a plan that gives other bytes is refused") {
  std::mt19937 random(5);
  int wrong = 0, refused = 0;
  for (int round = 0; round < 3000; ++round) {
    CAPTURE(round);
    const Network n = random_network(random);
    StoragePlan plan = n.plan();
    const auto v = random() % n.values.size();
    if (random() % 4 == 0) {
      StoragePlan::Left& left = plan.steps[random() % plan.steps.size()];
      left = {false, {}};
    } else if (random() % 2 == 0) {
      plan.places[v].offset = 4 * static_cast<std::int64_t>(random() % 64);
    } else {
      plan.places[v] = plan.places[random() % n.values.size()];
    }
    const bool is_refused = !check_storage(n.values, n.steps, plan).empty();
    refused += is_refused;
    bool differs = false;
    try {
      differs = Execution(n, plan).run() != Execution(n, plan_without_sharing(n)).run();
    } catch (const std::out_of_range&) {
      differs = true;
    }
    wrong += differs;
    REQUIRE((is_refused || !differs));
  }
  CHECK(wrong > 500);
  CHECK(refused < 3000);
}

}  // namespace
