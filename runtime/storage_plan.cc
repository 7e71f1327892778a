#include "runtime/storage_plan.h"

#include <algorithm>
#include <optional>

#include "runtime/memory_plan.h"
#include "support/error.h"

namespace polyte::runtime {
namespace {

template <class T>
auto& at(T& list, int index) {
  return list[static_cast<std::size_t>(index)];
}

// A larger group takes no more values: the test of a link is quadratic in it.
constexpr std::size_t kMostMembers = 512;

// Bytes of a value by the value whose step puts them where they are.
struct Segment {
  int origin = 0;
  std::int64_t origin_offset = 0, offset = 0, bytes = 0;
};

// A segment at its place in a group, wanted by `holder` from the step that writes it to the
// last that reads it.
struct Piece {
  std::int64_t at = 0, bytes = 0;
  int origin = 0;
  std::int64_t origin_at = 0;  // where the origin begins
  int holder = 0, first = 0, last = 0;
};

// Values at fixed distances from each other; `home` is the one whose memory is not the arena's,
// or -1.
struct Group {
  std::vector<int> members;
  int home = -1;
};

// The values of one group join another.
struct Move {
  int from = 0, to = 0;
  std::int64_t shift = 0;
  std::size_t count = 0;
};

class Planner {
 public:
  Planner(std::span<const StoredValue> values, std::span<const StorageStep> steps)
      : values_(values),
        steps_(steps),
        written_(values.size(), -1),
        readers_(values.size()),
        made_by_(values.size()) {
    for (std::size_t v = 0; v < values.size(); ++v) {
      group_of_.push_back(static_cast<int>(v));
      offset_.push_back(0);
      groups_.push_back(
          {{static_cast<int>(v)}, values[v].home == Home::Arena ? -1 : static_cast<int>(v)});
    }
    for (std::size_t s = 0; s < steps.size(); ++s) add_step(static_cast<int>(s));
  }

  // Copies before in-place results: a saved copy removes a step and its traffic, an in-place
  // result only saves memory, and both compete for the same places.
  StoragePlan run(SharingLevel level) {
    plan_.shares.resize(values_.size());
    for (std::size_t s = 0; s < steps_.size() && level != SharingLevel::None; ++s) save_copies(s);
    for (std::size_t s = 0; s < steps_.size() && level == SharingLevel::All; ++s) write_in_place(s);
    place();
    list_what_is_left();
    return std::move(plan_);
  }

 private:
  struct Made {  // a copy that makes a part of a value
    int step;
    std::size_t copy;
  };

  std::span<const StoredValue> values_;
  std::span<const StorageStep> steps_;
  std::vector<int> written_;               // by which step; -1: given
  std::vector<std::vector<int>> readers_;  // steps
  std::vector<std::vector<Made>> made_by_;
  // Of each step's copies: its bytes are where they belong without it.
  std::vector<std::vector<bool>> linked_;
  std::vector<int> group_of_;
  std::vector<std::int64_t> offset_;  // in the group
  std::vector<Group> groups_;
  std::vector<Move> moves_;
  StoragePlan plan_;

  void add_step(int s) {
    const StorageStep& step = at(steps_, s);
    for (const int v : step.reads) at(readers_, v).push_back(s);
    for (const int v : step.writes) at(written_, v) = s;
    for (std::size_t c = 0; c < step.copies.size(); ++c)
      at(made_by_, step.copies[c].to).push_back({s, c});
    linked_.emplace_back(step.copies.size(), false);
  }

  bool is_linked(const Made& made) const { return at(linked_, made.step)[made.copy]; }

  // A step whose copies are all linked does not run, so it reads nothing; of one that copies
  // some of its parts only those that are left read their source.
  bool still_reads(int s, int v) const {
    const StorageStep& step = at(steps_, s);
    if (step.copies.empty()) return true;
    for (std::size_t c = 0; c < step.copies.size(); ++c) {
      if (step.copies[c].from == v && !at(linked_, s)[c]) return true;
    }
    return false;
  }

  // An output is read by the caller, after the last step.
  int last_use(int v) const {
    if (at(values_, v).home == Home::Output) return static_cast<int>(steps_.size());
    int last = -1;
    for (const int s : at(readers_, v)) {
      if (still_reads(s, v)) last = std::max(last, s);
    }
    return last;
  }

  // What lies at [offset, offset + bytes) of v, put to `where` in the result: by linked copies
  // the bytes are those of the source, written by the source's step; other bytes are v's own.
  void add_contents(int v, std::int64_t offset, std::int64_t bytes, std::int64_t where,
                    std::vector<Segment>& into) const {
    const bool is_shared =
        std::ranges::any_of(at(made_by_, v), [&](const Made& made) { return is_linked(made); });
    if (!is_shared) return into.push_back({v, offset, where, bytes});
    for (const Made& made : at(made_by_, v)) {
      const Copy& copy = at(steps_, made.step).copies[made.copy];
      const std::int64_t first = std::max(offset, copy.to_offset);
      const std::int64_t last = std::min(offset + bytes, copy.to_offset + copy.bytes);
      if (first >= last) continue;
      const std::int64_t to = where + first - offset;
      if (is_linked(made)) {
        add_contents(copy.from, copy.from_offset + first - copy.to_offset, last - first, to, into);
      } else {
        into.push_back({v, first, to, last - first});
      }
    }
  }

  // What the group keeps where and for how long. A value that is a part of another yields its
  // own piece and one inside of the other: the two have one origin at one place, so they agree.
  std::vector<Piece> pieces_of(const Group& group) const {
    std::vector<Piece> pieces;
    for (const int v : group.members) {
      std::vector<Segment> contents;
      add_contents(v, 0, at(values_, v).bytes, 0, contents);
      const int last = last_use(v);
      for (const Segment& s : contents) {
        const std::int64_t where = at(offset_, v) + s.offset;
        const int first = at(written_, s.origin);
        pieces.push_back(
            {where, s.bytes, s.origin, where - s.origin_offset, v, first, std::max(first, last)});
      }
    }
    return pieces;
  }

  // Writing in place: the step that writes `later` is the last to read `sooner`, in the same
  // place, and declares the pair. Equal steps, because both ends of a lifetime count.
  bool may_follow(const Piece& sooner, const Piece& later) const {
    if (sooner.last != later.first || later.first < 0) return false;
    const bool same_place = at(offset_, sooner.holder) == later.origin_at &&
                            at(values_, sooner.holder).bytes == at(values_, later.origin).bytes;
    return same_place && std::ranges::any_of(at(steps_, later.first).in_place,
                                             [&](const StorageStep::InPlace& pair) {
                                               return pair.result == later.origin &&
                                                      pair.operand == sooner.holder;
                                             });
  }

  // Whether two pieces can both be where they are: apart in place, the same bytes, or apart in
  // time.
  bool agree(const Piece& a, const Piece& b) const {
    if (a.at >= b.at + b.bytes || b.at >= a.at + a.bytes) return true;
    if (a.origin == b.origin && a.origin_at == b.origin_at) return true;
    return a.last < b.first || b.last < a.first || may_follow(a, b) || may_follow(b, a);
  }

  // A group with a home must stay within its memory; given memory must not be written, so all
  // pieces there are its own. Then all pairs of pieces that overlap have to agree; sorted by
  // place, a piece is compared only with those that begin inside of it.
  bool is_sound(const Group& group) const {
    if (group.members.size() > kMostMembers) return false;
    std::vector<Piece> pieces = pieces_of(group);
    if (group.home >= 0) {
      const std::int64_t size = at(values_, group.home).bytes;
      const bool is_given = at(values_, group.home).home == Home::Given;
      for (const Piece& p : pieces) {
        if (p.at < 0 || p.at + p.bytes > size || (is_given && p.origin != group.home)) return false;
      }
    }
    std::ranges::sort(pieces, {}, &Piece::at);
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      for (std::size_t j = i + 1;
           j < pieces.size() && pieces[j].at < pieces[i].at + pieces[i].bytes; ++j) {
        if (!agree(pieces[i], pieces[j])) return false;
      }
    }
    return true;
  }

  // Moves what lies in the group of `b` so that b begins `distance` after a, if nothing is lost
  // by that.
  bool join(int a, int b, std::int64_t distance) {
    const Move move{at(group_of_, b), at(group_of_, a), at(offset_, a) + distance - at(offset_, b)};
    const Group &from = at(groups_, move.from), &to = at(groups_, move.to);
    if (move.from == move.to) return move.shift == 0 && is_sound(to);
    if (to.home >= 0 && from.home >= 0) return false;
    // Offsets within a home are those of its memory, so the one with a home stays where it is.
    if (from.home >= 0) return join(b, a, -distance);
    make(move);
    if (is_sound(to)) return true;
    undo_until(moves_.size() - 1);
    return false;
  }

  // Moves are kept on a stack, so that a trial is undone exactly: `count` members at the end of
  // `to` came from `from`.
  void make(Move move) {
    Group &from = at(groups_, move.from), &to = at(groups_, move.to);
    move.count = from.members.size();
    for (const int v : from.members) {
      at(offset_, v) += move.shift;
      at(group_of_, v) = move.to;
      to.members.push_back(v);
    }
    from.members.clear();
    moves_.push_back(move);
  }

  void undo_until(std::size_t count) {
    for (; moves_.size() > count; moves_.pop_back()) {
      const Move& move = moves_.back();
      std::vector<int>&from = at(groups_, move.from).members, &to = at(groups_, move.to).members;
      from.assign(to.end() - static_cast<std::ptrdiff_t>(move.count), to.end());
      to.resize(to.size() - move.count);
      for (const int v : from) {
        at(offset_, v) -= move.shift;
        at(group_of_, v) = move.from;
      }
    }
  }

  // For copy.to to begin at `from_offset - to_offset` after copy.from means that the copied
  // bytes coincide.
  bool link(const Copy& copy) {
    return join(copy.from, copy.to, copy.from_offset - copy.to_offset);
  }

  // All copies of a step at once if that works: then the step is gone. Else one by one, in
  // order: a copy that stays is a write by this step, which keeps its place busy and can
  // prevent later links.
  void save_copies(std::size_t s) {
    const std::vector<Copy>& copies = steps_[s].copies;
    const std::size_t before = moves_.size();
    linked_[s].assign(copies.size(), true);
    if (!std::ranges::all_of(copies, [&](const Copy& copy) { return link(copy); })) {
      undo_until(before);
      linked_[s].assign(copies.size(), false);
      for (std::size_t c = 0; c < copies.size(); ++c) {
        linked_[s][c] = true;
        linked_[s][c] = link(copies[c]);
      }
    }
    for (std::size_t c = 0; c < copies.size(); ++c) {
      if (linked_[s][c]) note_share(copies[c]);
    }
  }

  void note_share(const Copy& copy) {
    const bool is_view = copy.bytes == at(values_, copy.to).bytes;
    StoragePlan::Share& share = at(plan_.shares, is_view ? copy.to : copy.from);
    if (share.kind != StoragePlan::Share::Kind::Own) return;
    share = is_view ? StoragePlan::Share{StoragePlan::Share::Kind::View, copy.from}
                    : StoragePlan::Share{StoragePlan::Share::Kind::Part, copy.to};
  }

  // An operand and its result in one group already are where they should be, or cannot be.
  void write_in_place(std::size_t s) {
    if (!steps_[s].copies.empty()) return;
    for (const StorageStep::InPlace& pair : steps_[s].in_place) {
      const bool is_done = at(plan_.shares, pair.result).kind == StoragePlan::Share::Kind::InPlace;
      if (is_done || at(group_of_, pair.result) == at(group_of_, pair.operand)) continue;
      if (at(values_, pair.result).bytes != at(values_, pair.operand).bytes) continue;
      if (!join(pair.operand, pair.result, 0)) continue;
      StoragePlan::Share& share = at(plan_.shares, pair.result);
      if (share.kind == StoragePlan::Share::Kind::Own)
        share = {StoragePlan::Share::Kind::InPlace, pair.operand};
    }
  }

  // Groups without a home become blocks of the arena; the lowest of their offsets is 0 there.
  void place() {
    std::vector<Block> blocks(groups_.size());
    std::vector<std::int64_t> lowest(groups_.size(), 0);
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      if (groups_[g].home >= 0) continue;
      const std::vector<Piece> pieces = pieces_of(groups_[g]);
      if (!pieces.empty()) lowest[g] = std::ranges::min(pieces, {}, &Piece::at).at;
      for (const Piece& p : pieces)
        blocks[g].push_back({p.bytes, p.first, p.last, p.at - lowest[g]});
    }
    const ArenaPlan arena = plan_arena(blocks);
    plan_.arena_bytes = arena.total;
    for (std::size_t v = 0; v < values_.size(); ++v) {
      const auto g = static_cast<std::size_t>(group_of_[v]);
      const bool is_arena = groups_[g].home < 0;
      plan_.places.push_back(
          {groups_[g].home, is_arena ? arena.offsets[g] + offset_[v] - lowest[g] : offset_[v]});
    }
  }

  void list_what_is_left() {
    for (std::size_t s = 0; s < steps_.size(); ++s) {
      StoragePlan::Left& left = plan_.steps.emplace_back();
      left.runs = std::ranges::none_of(linked_[s], [](bool is_saved) { return is_saved; });
      for (std::size_t c = 0; c < linked_[s].size(); ++c) {
        if (!left.runs && !linked_[s][c] && steps_[s].copies[c].bytes > 0)
          left.copies.push_back(steps_[s].copies[c]);
      }
    }
  }
};

}  // namespace

StoragePlan plan_storage(std::span<const StoredValue> values, std::span<const StorageStep> steps,
                         SharingLevel level) {
  return Planner(values, steps).run(level);
}

}  // namespace polyte::runtime
