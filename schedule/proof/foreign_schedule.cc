// Reading: the statements and sizes of the text become the Program's. The text has the names that
// `polyte deps --format isl` shows (isl_names.h); the model has numbers, and of the sizes only
// the open ones:
//
//   text    [M, N] -> { acc_update[i, k] -> [i, k] }     N is 64 in this Program
//   model   [M] -> { S1[i, k] -> [i, k] }                 N fixed at 64, then projected out
#include "schedule/proof/foreign_schedule.h"

#include <isl/id.h>
#include <isl/map.h>
#include <isl/set.h>
#include <isl/space.h>
#include <isl/union_map.h>

#include <algorithm>

#include "schedule/proof/foreign_schedule_impl.h"
#include "schedule/proof/isl_faults.h"
#include "support/error.h"
#include "support/join_words.h"

namespace polyte::schedule {
namespace {

constexpr std::uint64_t kReadQuota = 20'000'000;  // isl operations

using Impl = ForeignSchedule::Impl;

[[noreturn]] void refuse(const Impl& impl, const std::string& what) {
  throw UserError(ExitStatus::InvalidInput, impl.origin + ": " + what);
}

// --- sizes

// The Program's size that the text calls so; its value where it is bound.
struct Size {
  std::optional<std::size_t> open;  // place among the open ones
  std::optional<std::int64_t> value;
};

Size find_size(const Impl& impl, const std::string& name) {
  const std::vector<std::string>& open = impl.names->params();
  const auto at = std::ranges::find(open, name);
  if (at != open.end()) return {static_cast<std::size_t>(at - open.begin()), {}};
  for (const auto& [size, value] : impl.basis.program->sizes)
    if (isl_name(size) == name) return {{}, value};
  std::vector<std::string> known = open;
  for (const auto& [size, value] : impl.basis.program->sizes) known.push_back(isl_name(size));
  refuse(impl, "'" + name + "' is no size of the program" +
                   (known.empty() ? ", which has none" : ", which has " + join_words(known)));
}

// The map over the open sizes alone, in the Program's order and names. A text may name sizes that
// the Program has bound, in any order, and may leave out those that it does not use.
isl::map with_open_sizes(const Impl& impl, isl_map* map) {
  isl_size d = 0;
  while (d < isl_map_dim(map, isl_dim_param)) {
    const auto at = static_cast<unsigned>(d);
    const Size size = find_size(impl, isl_map_get_dim_name(map, isl_dim_param, at));
    if (size.value) {
      map = isl_map_project_out(
          isl_map_fix_val(map, isl_dim_param, at,
                          isl_val_int_from_si(isl_map_get_ctx(map), *size.value)),
          isl_dim_param, at, 1);
      continue;
    }
    map = isl_map_set_dim_name(map, isl_dim_param, at, impl.basis.model.params[*size.open].c_str());
    ++d;
  }
  return isl::manage(isl_map_align_params(map, isl_set_get_space(impl.basis.model.context.get())));
}

// --- statements

// By its tuple's name. A domain such as [S[i] -> T[j]] is a wrapped relation, and no instance.
std::size_t find_statement(const Impl& impl, const isl::map& map) {
  const char* tuple = isl_map_get_tuple_name(map.get(), isl_dim_in);
  std::vector<std::string> known;
  for (std::size_t i = 0; i < impl.basis.model.statements.size(); ++i) {
    known.push_back(impl.names->statement(i));
    if (!tuple || known.back() != tuple) continue;
    const std::size_t count = impl.names->iterators(i).size();
    const auto got = static_cast<std::size_t>(isl_map_dim(map.get(), isl_dim_in));
    if (isl_map_domain_is_wrapping(map.get()) != isl_bool_true && got == count) return i;
    refuse(impl, known.back() + " has " + std::to_string(count) + " iterators (" +
                     join_words(impl.names->iterators(i)) + "), here it has " +
                     std::to_string(got));
  }
  refuse(impl,
         std::string(tuple ? "'" + std::string(tuple) + "' is" : "an instance without a name is") +
             " no statement of the program, which has " + join_words(known));
}

isl_map* with_tuple(isl_map* map, std::size_t statement) {
  isl_id* id =
      isl_id_alloc(isl_map_get_ctx(map), ("S" + std::to_string(statement)).c_str(), nullptr);
  return isl_map_set_tuple_id(map, isl_dim_in, id);
}

using Times = std::vector<std::optional<isl::map>>;  // by statement

// isl compares times of one length only; that a shorter one comes first would be an invention.
void check_lengths(const Impl& impl, const Times& found) {
  std::optional<std::size_t> first;
  const auto length = [&](std::size_t i) { return isl_map_dim(found[i]->get(), isl_dim_out); };
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (!found[i]) continue;
    if (!first) first = i;
    if (length(*first) == length(i)) continue;
    refuse(impl, "the time of " + impl.names->statement(*first) + " has " +
                     std::to_string(length(*first)) + " values, that of " +
                     impl.names->statement(i) + " has " + std::to_string(length(i)) +
                     ": expected as many of each, or nothing says which comes first");
  }
}

}  // namespace

Times times_by_statement(const Impl& impl, const isl::union_map& times) {
  Times found(impl.basis.model.statements.size());
  times.foreach_map([&](const isl::map& map) {
    const std::size_t i = find_statement(impl, map);
    // A time is its numbers: a nested or named range, [[i] -> [0]] or time[i, 0], is flattened.
    isl_map* plain = isl_map_reset_tuple_id(isl_map_flatten_range(map.copy()), isl_dim_out);
    isl::map mine = with_open_sizes(impl, with_tuple(plain, i));
    if (found[i]) {  // ranges of two names
      if (isl_map_dim(mine.get(), isl_dim_out) != isl_map_dim(found[i]->get(), isl_dim_out))
        refuse(impl, impl.names->statement(i) + " has times of different lengths, expected one");
      mine = mine.unite(*found[i]);
    }
    found[i] = mine;
  });
  check_lengths(impl, found);
  return found;
}

namespace {

// A union map may say a time for instances that the Program does not have (many tools write the
// formula without the domain): these are dropped. A tree's domain is what it runs, so that
// `written`, with all of them, is kept for that question.
void take_times(Impl& impl) {
  impl.written = times_by_statement(impl, impl.text.times);
  isl_size length = 0;
  for (const std::optional<isl::map>& times : impl.written)
    if (times) length = isl_map_dim(times->get(), isl_dim_out);
  for (std::size_t i = 0; i < impl.written.size(); ++i) {
    const isl::set& instances = impl.basis.model.statements[i].domain;
    if (impl.written[i]) {
      impl.times.push_back(impl.written[i]->intersect_domain(instances).coalesce());
      continue;
    }
    // No time: an empty map, and each instance of the statement will be missing.
    isl_space* space = isl_space_from_domain(isl_set_get_space(instances.get()));
    impl.times.push_back(isl::manage(
        isl_map_empty(isl_space_add_dims(space, isl_dim_out, static_cast<unsigned>(length)))));
  }
}

}  // namespace

const Refusal* ForeignVerdict::first_refusal() const {
  if (refusal) return &*refusal;
  for (const JudgedMark& mark : marks)
    if (mark.refusal) return &*mark.refusal;
  return nullptr;
}

ForeignSchedule::ForeignSchedule(std::shared_ptr<const ir::Program> program,
                                 const std::string& text, const std::string& origin)
    : impl_(std::make_unique<Impl>()) {
  Impl& impl = *impl_;
  impl.origin = origin;
  impl.basis.program = std::move(program);
  impl.context.limit(kReadQuota);
  try {
    impl.basis.state = reference_state(impl.basis.program);
    impl.basis.model = make_model(impl.context, impl.basis.state);
    impl.names.emplace(impl.basis.model);
    impl.text = read_isl_schedule(impl.context, text, origin);
    take_times(impl);
  } catch (const isl::exception& e) {
    if (!is_quota(impl.context, e)) throw_isl_fault(impl.context, e, "schedule of another tool");
    throw UserError(ExitStatus::ResourceLimit, origin + ": reading it takes isl more than " +
                                                   std::to_string(kReadQuota) + " operations");
  }
}
ForeignSchedule::~ForeignSchedule() = default;
ForeignSchedule::ForeignSchedule(ForeignSchedule&&) noexcept = default;
ForeignSchedule& ForeignSchedule::operator=(ForeignSchedule&&) noexcept = default;

bool ForeignSchedule::is_tree() const { return impl_->text.is_tree; }

}  // namespace polyte::schedule
