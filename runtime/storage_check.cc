// The replay of a storage plan on labels: which bytes of which value lie where, step by step.
#include <map>

#include "runtime/storage_plan.h"

namespace polyte::runtime {
namespace {

template <class T>
auto& at(T& list, int index) {
  return list[static_cast<std::size_t>(index)];
}

// Bytes [offset, offset + bytes) of what a step computed or what was given, under `origin`.
struct Label {
  int origin = 0;
  std::int64_t offset = 0, bytes = 0;
};
bool operator==(const Label& a, const Label& b) {
  return a.origin == b.origin && a.offset == b.offset && a.bytes == b.bytes;
}

// Neighbours that continue each other become one: a value that was written in two halves then
// has the same labels as one that was written at once, and == compares contents.
void append(std::vector<Label>& labels, const Label& next) {
  if (next.bytes == 0) return;
  if (!labels.empty() && labels.back().origin == next.origin &&
      labels.back().offset + labels.back().bytes == next.offset) {
    labels.back().bytes += next.bytes;
  } else {
    labels.push_back(next);
  }
}

// An interval map: the run at address a covers [a, a + its bytes). Runs never overlap; what no
// run covers was never written.
class LabelledMemory {
 public:
  void write(std::int64_t at, const std::vector<Label>& labels) {
    std::int64_t bytes = 0;
    for (const Label& label : labels) bytes += label.bytes;
    cut(at);
    cut(at + bytes);
    runs_.erase(runs_.lower_bound(at), runs_.lower_bound(at + bytes));
    for (const Label& label : labels) {
      runs_[at] = label;
      at += label.bytes;
    }
  }

  // What lies in [at, at + bytes), fewer bytes where some were never written.
  std::vector<Label> read(std::int64_t at, std::int64_t bytes) {
    cut(at);
    cut(at + bytes);
    std::vector<Label> labels;
    for (auto run = runs_.lower_bound(at); run != runs_.end() && run->first < at + bytes; ++run) {
      append(labels, run->second);
    }
    return labels;
  }

 private:
  std::map<std::int64_t, Label> runs_;  // by address

  // Splits the run that `at` lies inside of, so that `at` is a boundary of runs.
  void cut(std::int64_t at) {
    auto run = runs_.upper_bound(at);
    if (run == runs_.begin()) return;
    --run;
    const std::int64_t head = at - run->first;
    Label& label = run->second;
    if (head <= 0 || head >= label.bytes) return;
    const Label tail{label.origin, label.offset + head, label.bytes - head};
    label.bytes = head;
    runs_[at] = tail;
  }
};

class Replay {
 public:
  Replay(std::span<const StoredValue> values, std::span<const StorageStep> steps,
         const StoragePlan& plan)
      : values_(values), steps_(steps), plan_(plan), copies_of_(values.size()) {
    // All copies, whichever steps the plan has dropped: they are the network's text, against
    // which the plan is judged.
    for (const StorageStep& step : steps) {
      for (const Copy& copy : step.copies) at(copies_of_, copy.to).push_back(copy);
    }
  }

  std::vector<std::string> run() {
    for (int v = 0; v < static_cast<int>(values_.size()); ++v) begin(v);
    if (!problems_.empty()) return problems_;
    for (step_ = 0; step_ < static_cast<int>(steps_.size()); ++step_) take_step();
    for (int v = 0; v < static_cast<int>(values_.size()); ++v) {
      if (at(values_, v).home == Home::Output) expect(v, 0, at(values_, v).bytes);
    }
    return problems_;
  }

 private:
  std::span<const StoredValue> values_;
  std::span<const StorageStep> steps_;
  const StoragePlan& plan_;
  std::vector<std::vector<Copy>> copies_of_;
  std::map<int, LabelledMemory> memories_;  // by the value whose memory it is; -1: the arena
  std::vector<std::string> problems_;
  int step_ = 0;

  void problem(int value, const std::string& what) {
    problems_.push_back("step " + std::to_string(step_) + ": value " + std::to_string(value) + " " +
                        what);
  }

  // Bytes [offset, offset + bytes) of v by what was computed or given: copies are followed back.
  // For `concat: w[0..n) = f1, w[n..2n) = f2` the contents of w are the labels (f1, 0..n) and
  // (f2, 0..n), so it does not matter whether they were copied or lie there already. Ordered by
  // place, for copies may be listed in any order.
  void add_contents(int v, std::int64_t offset, std::int64_t bytes,
                    std::vector<Label>& into) const {
    if (at(copies_of_, v).empty()) return append(into, {v, offset, bytes});
    std::map<std::int64_t, Copy> in_order;
    for (const Copy& copy : at(copies_of_, v)) in_order[copy.to_offset] = copy;
    for (const auto& [to, copy] : in_order) {
      const std::int64_t first = std::max(offset, to),
                         last = std::min(offset + bytes, to + copy.bytes);
      if (first < last) add_contents(copy.from, copy.from_offset + first - to, last - first, into);
    }
  }

  std::vector<Label> contents(int v, std::int64_t offset, std::int64_t bytes) const {
    std::vector<Label> labels;
    add_contents(v, offset, bytes, labels);
    return labels;
  }

  // Each value lies within the memory that it is placed in; a given or an output value is that
  // memory.
  void begin(int v) {
    const StoragePlan::Place& place = at(plan_.places, v);
    const std::int64_t end = place.offset + at(values_, v).bytes;
    const std::int64_t size =
        place.inside < 0 ? plan_.arena_bytes : at(values_, place.inside).bytes;
    if (place.offset < 0 || end > size) problem(v, "does not fit where it lies");
    const bool has_home = at(values_, v).home != Home::Arena;
    if (has_home && (place.inside != v || place.offset != 0))
      problem(v, "is not in its own memory");
    if (at(values_, v).home == Home::Given)
      memories_[v].write(0, contents(v, 0, at(values_, v).bytes));
  }

  // What lies where v is placed has the labels that v should have. Fewer or other labels: bytes
  // were overwritten, or never written.
  void expect(int v, std::int64_t offset, std::int64_t bytes) {
    const StoragePlan::Place& place = at(plan_.places, v);
    if (memories_[place.inside].read(place.offset + offset, bytes) != contents(v, offset, bytes))
      problem(v, "has lost its bytes");
  }

  void write(int v, std::int64_t offset, std::int64_t bytes) {
    if (bytes == 0) return;
    const StoragePlan::Place& place = at(plan_.places, v);
    if (place.inside >= 0 && at(values_, place.inside).home == Home::Given)
      return problem(v, "is written to memory that is only read");
    memories_[place.inside].write(place.offset + offset, contents(v, offset, bytes));
  }

  // Whether the two share bytes of one memory.
  bool meet(int a, int b) const {
    const StoragePlan::Place &p = at(plan_.places, a), &q = at(plan_.places, b);
    if (at(values_, a).bytes == 0 || at(values_, b).bytes == 0) return false;
    return p.inside == q.inside && p.offset < q.offset + at(values_, b).bytes &&
           q.offset < p.offset + at(values_, a).bytes;
  }

  // Over the operand means exactly over it: overlapping by a part, the first writes of the
  // result would destroy elements that are still to be read.
  bool is_in_place(const StorageStep& step, int result, int operand) const {
    const bool same = at(plan_.places, result).offset == at(plan_.places, operand).offset &&
                      at(values_, result).bytes == at(values_, operand).bytes;
    for (const StorageStep::InPlace& pair : step.in_place) {
      if (same && pair.result == result && pair.operand == operand) return true;
    }
    return false;
  }

  // A kernel reads and writes in any order, so no result may touch an operand, except in place,
  // nor another result.
  void check_overlaps(const StorageStep& step) {
    for (std::size_t w = 0; w < step.writes.size(); ++w) {
      const int result = step.writes[w];
      for (const int operand : step.reads) {
        if (meet(result, operand) && !is_in_place(step, result, operand))
          problem(result,
                  "is written over value " + std::to_string(operand) + ", which the step reads");
      }
      for (std::size_t other = 0; other < w; ++other) {
        if (meet(result, step.writes[other]))
          problem(result, "is written over value " + std::to_string(step.writes[other]) +
                              " of the same step");
      }
    }
  }

  void take_step() {
    const StorageStep& step = at(steps_, step_);
    const StoragePlan::Left& left = at(plan_.steps, step_);
    if (left.runs) {
      check_overlaps(step);
      for (const int v : step.reads) expect(v, 0, at(values_, v).bytes);
      for (const int v : step.writes) write(v, 0, at(values_, v).bytes);
      return;
    }
    // Copies run one by one, in order, and by memcpy: neither overlaps its own source. A read
    // that finds what an earlier copy of this step destroyed shows in expect().
    for (const Copy& copy : left.copies) {
      const StoragePlan::Place &from = at(plan_.places, copy.from), &to = at(plan_.places, copy.to);
      const std::int64_t source = from.offset + copy.from_offset,
                         target = to.offset + copy.to_offset;
      if (from.inside == to.inside && source < target + copy.bytes && target < source + copy.bytes)
        problem(copy.to, "is copied over its own source");
      expect(copy.from, copy.from_offset, copy.bytes);
      write(copy.to, copy.to_offset, copy.bytes);
    }
  }
};

}  // namespace

std::vector<std::string> check_storage(std::span<const StoredValue> values,
                                       std::span<const StorageStep> steps,
                                       const StoragePlan& plan) {
  return Replay(values, steps, plan).run();
}

}  // namespace polyte::runtime
