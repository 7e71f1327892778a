// The only door to isl: Programs and States as isl sets and maps. Internal to schedule/proof
// and poly.
//
// Statement i of a model is the tuple "S<i>", buffer j the tuple "B<j>" (isl's text has no dotted
// names). A buffer scoped to a loop has the rows down to that loop before its subscripts: its
// cells die with the iteration. A row and a subscript that are the digits of a simpler value stand
// as that value: m//14 and m%14 as m (CellDigits). Two virtual statements close a model: IN<j>
// writes every cell of interface buffer j before everything, OUT<j> reads every cell of a written
// interface buffer after everything.
#pragma once

#include <isl/cpp.h>
#include <isl/options.h>

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "schedule/state/state.h"

namespace polyte::schedule {

// An isl context with the project's settings: errors throw, operations are counted.
class IslContext {
 public:
  IslContext();
  ~IslContext();
  IslContext(const IslContext&) = delete;
  IslContext& operator=(const IslContext&) = delete;
  isl::ctx get() const { return isl::ctx(ctx_); }
  void limit(std::uint64_t operations);  // from here on; isl::exception_quota beyond

 private:
  isl_ctx* ctx_;
};

struct IslAccess {
  int buffer = 0;
  // Statement instance -> cell; over-approximated where a subscript is read at run time.
  isl::map cells;
  bool write = false;
  bool own = false;   // AccessRef::own
  bool exact = true;  // false: may-access (gather, scatter, guarded at run time)
  // Instances whose guarded read reads nothing; none if unguarded.
  std::optional<isl::set> outside;
  ir::Access text;                    // as written, for messages
  std::vector<ir::Constraint> guard;  // as written; empty if unguarded
};

struct IslStatement {
  const ScheduledStatement* statement = nullptr;
  isl::set domain;
  std::vector<isl::aff> time;  // one per dimension of the model's order, over the domain's space
  // As accesses_of(): reads in order, writes last; an update reads what it writes.
  std::vector<IslAccess> accesses;
};

// One coordinate extent * high + low instead of two: the same cells, as long as accesses stay in
// bounds. Coordinates are the rows down to the scope, then the subscripts; `low` is one of these,
// or what has become of several.
struct CellDigits {
  std::size_t high = 0, low = 0;
  std::int64_t extent = 1;  // of low
};

struct IslBuffer {
  std::string name;
  std::string of;  // the Program's buffer: itself unless staged
  std::vector<ir::Affine> shape;
  LoopId scope_loop = kKernel;
  LoopId alloc_loop = kKernel;  // where its storage begins: the scope's loop, or one outside
  bool interface = false, input = false, output = false;
  std::vector<CellDigits> digits;
  int place = -1;  // the buffer in whose memory it lies: itself unless reused
};

// A State (or, through reference_state, a Program) in isl.
struct IslModel {
  const State* state = nullptr;
  std::vector<std::string> params;
  isl::set context;  // of the parameters
  std::vector<IslStatement> statements;
  std::vector<IslBuffer> buffers;
  std::map<LoopId, int> depth_of_loop;  // its dimension of the order
};

IslModel make_model(const IslContext& context, const State& state);  // isl_model.cc

// --- order: time_order.cc

// The first dimension in which `pairs` (instances of statement a -> of b) run backwards, and those
// pairs; none where every source comes strictly before its sink. A dimension equal for all pairs of
// the last depth means equal times: then `depth` is the number of dimensions.
struct BackwardPairs {
  int depth = 0;
  isl::map pairs;
};
std::optional<BackwardPairs> find_backwards(const IslModel& model, int a, int b, isl::map pairs);
// Of two times that are constants in a dimension, decided without a set: -1, 0, 1 for source
// before, with, after sink.
std::optional<int> constant_order(const isl::aff& source, const isl::aff& sink);
// Those of `pairs` whose source comes strictly before its sink; and where the tree alone says
// that there are none.
isl::map forward_pairs(const IslModel& model, int a, int b, isl::map pairs);
bool is_never_before(const IslModel& model, int a, int b);

// --- what a model holds

const ir::Affine& row_at(const ScheduledStatement& statement, const std::string& loop);
int buffer_index(const IslModel& model, const std::string& name);     // -1 if absent
int statement_index(const IslModel& model, const std::string& name);  // -1 if absent

// An affine expression over a set space whose dimensions are named `dims`, with the
// model's parameters.
isl::aff to_aff(const isl::space& set_space, const std::vector<std::string>& dims,
                const std::vector<std::string>& params, const ir::Affine& e);
isl::set to_set(const isl::space& set_space, const std::vector<std::string>& dims,
                const std::vector<std::string>& params,
                const std::vector<ir::Constraint>& constraints);
isl::space set_space(const IslContext& context, const std::vector<std::string>& params,
                     const std::string& tuple, std::size_t dimensions);
isl::multi_aff to_multi_aff(const isl::space& domain, const std::string& tuple,
                            const std::vector<isl::aff>& values);

// phi: instances of statement i of `model` -> instances of its reference statement in `basis`.
// None for copies.
std::optional<isl::map> phi_of(const IslModel& model, int statement, const IslModel& basis);

// Values of the first point (lexicographic) of a non-empty set: parameters first, then dimensions.
// Large parameter values are avoided by minimising the parameters first.
struct Point {
  ir::Values params;
  std::vector<std::int64_t> values;
};
Point first_point(const isl::set& set, const std::vector<std::string>& params);
// The one point of a set's space with these coordinates, at these sizes; sizes that are not named
// stay open.
isl::set only_point(const isl::space& space, std::span<const std::int64_t> values,
                    const ir::Values& params);

// Rows of the path down to and including the loop, as maps of one statement.
isl::multi_aff rows_down_to(const IslModel& model, int statement, LoopId loop_id, bool inclusive);

}  // namespace polyte::schedule
