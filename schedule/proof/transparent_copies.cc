#include "schedule/proof/transparent_copies.h"

#include <isl/aff.h>
#include <isl/map.h>
#include <isl/set.h>
#include <isl/val.h>

#include <algorithm>

#include "schedule/state/fragments.h"

namespace polyte::schedule {
namespace {

struct AccessOf {
  int statement = 0;
  const IslAccess* access = nullptr;
};
using Accesses = std::vector<AccessOf>;

// The cells of all of them together; `accesses` is not empty.
isl::set cells_of(const Accesses& accesses) {
  isl::set all = accesses.front().access->cells.range();
  for (const AccessOf& each : accesses) all = all.unite(each.access->cells.range());
  return all;
}

// One copy, held against the conditions a, b and c of docs/proof.md. Places in a body are
// compared by the first dimension of the time below the scope, a constant where the body is a
// sequence:
//
//   scope > { copy in (0); users (1), (2); copy back (3) }
class OneCopy {
 public:
  OneCopy(const IslModel& model, int copy) : model_(model), copy_(copy), buffer_(buffer(copy)) {}

  // Copy's cell -> the cell whose value it holds, where the copy is transparent.
  std::optional<isl::map> cells_held() {
    if (!collect() || !is_between() || !is_whole()) return std::nullopt;
    isl::map held = relation(ins_, true);
    if (isl_map_is_single_valued(held.get()) != isl_bool_true) return std::nullopt;
    // What is copied back goes to where it came from.
    if (!outs_.empty() && !relation(outs_, false).is_subset(held)) return std::nullopt;
    if (!writes_.empty() && holds_twice()) return std::nullopt;
    if (!is_apart(held)) return std::nullopt;
    return held;
  }

  int held() const { return of_; }  // the buffer that is copied, after cells_held()
  bool moves(int statement) const {
    return is_one_of(ins_, statement) || is_one_of(outs_, statement);
  }

 private:
  struct Transfer {
    int statement = 0;
    const IslAccess *from = nullptr, *to = nullptr;
  };

  const IslModel& model_;
  const int copy_;
  const IslBuffer& buffer_;
  int of_ = -1;
  std::vector<Transfer> ins_, outs_;
  Accesses reads_, writes_;  // of the copy, by others
  Accesses direct_;          // to what is copied, in the same iteration of the scope

  const IslBuffer& buffer(int at) const { return model_.buffers[static_cast<std::size_t>(at)]; }
  const IslStatement& statement(int at) const {
    return model_.statements[static_cast<std::size_t>(at)];
  }

  static bool is_one_of(const std::vector<Transfer>& transfers, int statement) {
    return std::ranges::find(transfers, statement, &Transfer::statement) != transfers.end();
  }

  std::vector<int> statements_in_scope() const {
    std::vector<int> all;
    for (std::size_t i = 0; i < model_.statements.size(); ++i) {
      const auto path = path_to(model_.state->tree, model_.statements[i].statement->body.name);
      if (buffer_.scope_loop == kKernel ||
          std::ranges::find(path, buffer_.scope_loop, &Loop::id) != path.end())
        all.push_back(static_cast<int>(i));
    }
    return all;
  }

  // False where something is not as simple as it has to be.
  bool collect() {
    for (const int at : statements_in_scope()) {
      const IslStatement& s = statement(at);
      const auto touches = [&](const IslAccess& access) { return access.buffer == copy_; };
      const bool uses_copy = std::ranges::any_of(s.accesses, touches);
      if (uses_copy && s.statement->kind == StatementKind::Copy) {
        if (!add_transfer(at)) return false;
        continue;
      }
      for (const IslAccess& access : s.accesses) {
        if (buffer(access.buffer).of != buffer_.of) continue;
        if (s.statement->padded) return false;
        if (access.buffer != copy_)
          direct_.push_back({at, &access});
        else if (access.outside)
          return false;
        else
          (access.write ? writes_ : reads_).push_back({at, &access});
      }
    }
    // Another copy of the same tensor is storage of its own: only what is copied here counts.
    std::erase_if(direct_, [&](const AccessOf& each) { return each.access->buffer != of_; });
    return !ins_.empty();
  }

  // A statement that copies an element, into the copy or back.
  bool add_transfer(int at) {
    const IslStatement& s = statement(at);
    if (s.accesses.size() != 2 || s.statement->padded) return false;
    Transfer transfer{at, nullptr, nullptr};
    for (const IslAccess& access : s.accesses) {
      if (access.outside) return false;
      (access.write ? transfer.to : transfer.from) = &access;
    }
    if (!transfer.from || !transfer.to) return false;
    const bool is_in = transfer.to->buffer == copy_;
    const int other = is_in ? transfer.from->buffer : transfer.to->buffer;
    if (other == copy_ || buffer(other).of != buffer_.of || (of_ >= 0 && of_ != other))
      return false;
    of_ = other;
    (is_in ? ins_ : outs_).push_back(transfer);
    return true;
  }

  // Where the statement stands among those of the scope's body, if it is one place.
  std::optional<long> place_in_scope(int at) const {
    const std::size_t depth =
        buffer_.scope_loop == kKernel
            ? 0
            : static_cast<std::size_t>(model_.depth_of_loop.at(buffer_.scope_loop)) + 1;
    const auto& time = statement(at).time;
    if (depth >= time.size() || isl_aff_is_cst(time[depth].get()) != isl_bool_true)
      return std::nullopt;
    const isl::val value = isl::manage(isl_aff_get_constant_val(time[depth].get()));
    return isl_val_get_num_si(value.get());
  }

  // In each iteration of the scope the copies in come before what uses the copy, and those back
  // behind. What is over when the first element is copied in, or begins when the last is copied
  // back, takes no part in it.
  bool is_between() {
    std::vector<long> before, between, behind;
    const auto add = [&](std::vector<long>& into, int at) {
      const auto place = place_in_scope(at);
      if (place) into.push_back(*place);
      return place.has_value();
    };
    for (const Transfer& in : ins_)
      if (!add(before, in.statement)) return false;
    for (const Transfer& out : outs_)
      if (!add(behind, out.statement)) return false;
    std::erase_if(direct_, [&](const AccessOf& direct) {
      const auto place = place_in_scope(direct.statement);
      return place && (*place < std::ranges::min(before) ||
                       (!behind.empty() && *place > std::ranges::max(behind)));
    });
    for (const Accesses* users : {&reads_, &writes_, &direct_})
      for (const AccessOf& user : *users)
        if (!add(between, user.statement)) return false;
    const auto all_before = [](const std::vector<long>& first, const std::vector<long>& then) {
      return first.empty() || then.empty() || std::ranges::max(first) < std::ranges::min(then);
    };
    return all_before(before, between) && all_before(between, behind) && all_before(before, behind);
  }

  static isl::set filled(const std::vector<Transfer>& transfers, bool is_in) {
    const auto cells = [&](const Transfer& t) { return (is_in ? t.to : t.from)->cells.range(); };
    isl::set all = cells(transfers.front());
    for (const Transfer& t : transfers) all = all.unite(cells(t));
    return all;
  }

  // What is read of the copy has been copied into it, and what is written is copied back. What is
  // copied back was copied in where it comes back to where it came from.
  bool is_whole() const {
    const isl::set in = filled(ins_, true);
    if (!reads_.empty() && !cells_of(reads_).is_subset(in)) return false;
    return writes_.empty() || (!outs_.empty() && cells_of(writes_).is_subset(filled(outs_, false)));
  }

  isl::map relation(const std::vector<Transfer>& transfers, bool is_in) const {
    const auto one = [&](const Transfer& t) {
      const IslAccess &copy = is_in ? *t.to : *t.from, &of = is_in ? *t.from : *t.to;
      return copy.cells.reverse().apply_range(of.cells);
    };
    isl::map all = one(transfers.front());
    for (const Transfer& t : transfers) all = all.unite(one(t));
    return all;
  }

  // Instance -> iteration of the scope.
  isl::map rows_of(int at) const {
    const isl::multi_aff rows = buffer_.scope_loop == kKernel
                                    ? to_multi_aff(statement(at).domain.get_space(), "", {})
                                    : rows_down_to(model_, at, buffer_.scope_loop, true);
    return isl::manage(isl_map_from_multi_aff(rows.copy()));
  }

  // Iteration of the scope -> cell.
  isl::map in_scope(int at, const isl::map& cells) const {
    return rows_of(at).reverse().apply_range(cells);
  }

  // Whether two cells of the copy hold the value of one in the same iteration: a write to either is
  // not seen in the other.
  bool holds_twice() const {
    // Iteration of the scope and cell that is copied -> copy's cell.
    std::optional<isl::map> places;
    for (const Transfer& in : ins_) {
      isl_map* copied =
          isl_map_flat_range_product(rows_of(in.statement).release(), in.from->cells.copy());
      const isl::map here = isl::manage(isl_map_reverse(copied)).apply_range(in.to->cells);
      places = places ? places->unite(here) : here;
    }
    return isl_map_is_single_valued(places->get()) != isl_bool_true;
  }

  // Nothing else in the iteration touches what is written in the copy, or writes what is copied.
  bool is_apart(const isl::map& held) const {
    for (const AccessOf& direct : direct_) {
      const isl::map there = in_scope(direct.statement, direct.access->cells);
      for (const AccessOf& write : writes_)
        if (!there.intersect(in_scope(write.statement, write.access->cells.apply_range(held)))
                 .is_empty())
          return false;
      if (!direct.access->write) continue;
      for (const Transfer& in : ins_)
        if (!there.intersect(in_scope(in.statement, in.from->cells)).is_empty()) return false;
    }
    return true;
  }
};

// Which elements are touched is known, wherever the tensor or a copy of it is.
bool has_known_cells(const IslModel& model, const std::string& tensor) {
  return std::ranges::all_of(model.statements, [&](const IslStatement& s) {
    return std::ranges::all_of(s.accesses, [&](const IslAccess& access) {
      return access.exact || model.buffers[static_cast<std::size_t>(access.buffer)].of != tensor;
    });
  });
}

// Whether a copy was found that could go.
// The users of a transparent copy become users of what it copies: their cells go through `held`,
// and the moves themselves have no accesses any more. The buffer is its own family then, so that
// it does not count as staged storage of the tensor. Copies of copies go one by one.
bool remove_one(IslModel& model, const std::string& tensor) {
  for (std::size_t i = 0; i < model.buffers.size(); ++i) {
    IslBuffer& buffer = model.buffers[i];
    if (buffer.of != tensor || buffer.name == tensor) continue;
    OneCopy copy(model, static_cast<int>(i));
    const auto held = copy.cells_held();
    if (!held) continue;
    for (std::size_t s = 0; s < model.statements.size(); ++s) {
      if (copy.moves(static_cast<int>(s))) {
        model.statements[s].accesses.clear();
        continue;
      }
      for (IslAccess& access : model.statements[s].accesses) {
        if (access.buffer != static_cast<int>(i)) continue;
        access.cells = access.cells.apply_range(*held);
        access.buffer = copy.held();
      }
    }
    buffer.of = buffer.name;
    return true;
  }
  return false;
}

}  // namespace

IslModel without_transparent_copies(IslModel model, const std::string& tensor) {
  if (!has_known_cells(model, tensor)) return model;
  while (remove_one(model, tensor)) {
  }
  return model;
}

}  // namespace polyte::schedule
