#include "lower/join_loads.h"

#include <algorithm>
#include <map>
#include <set>
#include <span>

#include "lower/names.h"
#include "lower/rewrite_exprs.h"
#include "support/checked.h"

namespace polyte::lower {

using ir::Affine;
using ir::Expr;
using ir::Stmt;

namespace {

constexpr std::int64_t kVectorBytes = 16;  // of a thread's widest access

// Single elements that are read of one row: their subscripts differ in the last one's
// constant alone.
struct Row {
  const ir::LoopBuffer* buffer = nullptr;
  std::vector<Affine> indices;  // the last one without its constant
  std::set<std::int64_t> constants;
};

struct Joined {
  const ir::LoopBuffer* buffer = nullptr;
  std::vector<Affine> indices;  // of the first element
  std::int64_t count = 0;
  std::string registers;
};

class Joiner {
 public:
  explicit Joiner(const ir::LoopProgram& program) : names_(program, true) {}

  Stmt statement(const Stmt& s) {
    // One instruction, which loads for itself.
    if (std::holds_alternative<ir::Tensorized>(s->op)) return s;
    if (const auto* alloc = std::get_if<ir::Alloc>(&s->op);
        alloc && alloc->buffer.memory == ir::Memory::Shared)
      shared_[alloc->buffer.name] = &alloc->buffer;
    const auto* block = std::get_if<ir::Block>(&s->op);
    return block ? stretches(s, *block)
                 : ir::rewrite_children(s, [&](const Stmt& child) { return statement(child); });
  }

 private:
  Names names_;
  std::map<std::string, const ir::LoopBuffer*> shared_;

  // Stores that follow each other are a stretch.
  Stmt stretches(const Stmt& same, const ir::Block& block) {
    std::vector<Stmt> body;
    bool changed = false;
    for (auto first = block.body.begin(); first != block.body.end();) {
      const auto is_store = [](const Stmt& s) { return std::holds_alternative<ir::Store>(s->op); };
      const auto last = std::find_if_not(first, block.body.end(), is_store);
      if (last == first) {
        body.push_back(statement(*first++));
        changed = changed || body.back() != *std::prev(first);
        continue;
      }
      const std::vector<Joined> joined = joined_in({first, last});
      changed = changed || !joined.empty();
      body.push_back(with_loads({first, last}, joined));
      first = last;
    }
    return changed ? ir::make_block(std::move(body)) : same;
  }

  // --- what can be joined

  // Joined loads stand in front of the stretch, so what a store of the stretch writes is not
  // joined.
  std::vector<Joined> joined_in(std::span<const Stmt> stores) {
    std::set<std::string> written;
    for (const Stmt& s : stores) written.insert(std::get<ir::Store>(s->op).buffer);
    std::vector<Row> rows;
    for (const Stmt& s : stores)
      ir::rewrite(std::get<ir::Store>(s->op).value, [&](const Expr& leaf) {
        const auto* load = std::get_if<ir::Load>(&leaf->op);
        if (load && is_plain(*load) && !written.contains(load->buffer)) add(*load, rows);
        return leaf;
      });
    std::vector<Joined> joined;
    for (Row& row : rows) join(row, joined);
    return joined;
  }

  bool is_plain(const ir::Load& load) const {
    return shared_.contains(load.buffer) && load.guard.empty() && load.lanes.count == 1 &&
           std::ranges::none_of(load.indices,
                                [](const ir::Index& index) { return index.indirect != nullptr; });
  }

  static std::vector<Affine> subscripts(const ir::Load& load) {
    std::vector<Affine> result;
    for (const ir::Index& index : load.indices) result.push_back(index.affine);
    return result;
  }

  void add(const ir::Load& load, std::vector<Row>& rows) const {
    std::vector<Affine> indices = subscripts(load);
    const std::int64_t constant = indices.back().constant();
    indices.back() = indices.back() - constant;
    auto row = std::ranges::find_if(rows, [&](const Row& each) {
      return each.buffer->name == load.buffer && each.indices == indices;
    });
    if (row == rows.end())
      row = rows.insert(rows.end(), {shared_.at(load.buffer), std::move(indices), {}});
    row->constants.insert(constant);
  }

  // The longest vectors first.
  void join(Row& row, std::vector<Joined>& into) {
    for (std::int64_t count = kVectorBytes / size_in_bytes(row.buffer->dtype); count > 1;
         count /= 2) {
      if (!is_multiple(row, count)) continue;
      // A copy, as what is joined is taken out on the way. Constants 0..6 of f32: 0..3 as one
      // vector of four, then 4..5 as one of two; 6 stays single.
      const std::set<std::int64_t> all = row.constants;
      for (const std::int64_t first : all) {
        if (floor_mod(first, count) != 0 || !has_all(row, first, count)) continue;
        for (std::int64_t c = first; c < first + count; ++c) row.constants.erase(c);
        std::vector<Affine> indices = row.indices;
        indices.back() = indices.back() + first;
        into.push_back(
            {row.buffer, std::move(indices), count, names_.fresh(row.buffer->name + ".v")});
      }
    }
  }

  static bool has_all(const Row& row, std::int64_t first, std::int64_t count) {
    for (std::int64_t c = first; c < first + count; ++c)
      if (!row.constants.contains(c)) return false;
    return true;
  }

  // Whether the row's element with constant 0 lies at a multiple of `count` elements, whatever its
  // variables are. Rows of the buffer have to be a multiple as well, so that outer subscripts,
  // which may be anything, keep the address aligned; the buffer itself begins aligned.
  static bool is_multiple(const Row& row, std::int64_t count) {
    const ir::LoopBuffer& buffer = *row.buffer;
    const bool rows_are = buffer.shape.size() == 1 || buffer.shape.back() % count == 0;
    return rows_are && (buffer.swizzle.none() || buffer.swizzle.chunk % count == 0) &&
           std::ranges::all_of(row.indices.back().terms(),
                               [&](const ir::Term& term) { return term.coefficient % count == 0; });
  }

  // --- the loads

  static std::vector<ir::Index> as_indices(const std::vector<Affine>& subscripts) {
    std::vector<ir::Index> indices;
    for (const Affine& subscript : subscripts) indices.emplace_back(subscript);
    return indices;
  }

  static ir::Lanes side_by_side(std::size_t rank, std::int64_t count) {
    ir::Lanes lanes{static_cast<int>(count), std::vector<std::int64_t>(rank, 0), std::nullopt};
    lanes.strides.back() = 1;
    return lanes;
  }

  static Stmt with_loads(std::span<const Stmt> stores, const std::vector<Joined>& joined) {
    std::vector<Stmt> body;
    for (const Joined& each : joined) body.push_back(load_of(each));
    for (const Stmt& s : stores)
      body.push_back(rewrite_exprs(s, [&](const Expr& leaf) { return replaced(leaf, joined); }));
    Stmt result = ir::make_block(std::move(body));
    for (const Joined& each : joined)
      result =
          ir::make_alloc({{each.registers, each.buffer->dtype, {each.count}, ir::Memory::Register},
                          std::move(result)});
    return result;
  }

  static Stmt load_of(const Joined& joined) {
    ir::Load load{joined.buffer->name,
                  as_indices(joined.indices),
                  {},
                  nullptr,
                  side_by_side(joined.indices.size(), joined.count)};
    const int lanes = load.lanes.count;
    Expr value = std::make_shared<const ir::ExprNode>(
        ir::ExprNode{joined.buffer->dtype, lanes, std::move(load)});
    return ir::make_store({.buffer = joined.registers,
                           .indices = {ir::Index(Affine(0))},
                           .value = std::move(value),
                           .lanes = side_by_side(1, joined.count),
                           .origin = {}});
  }

  // Element by element: the load of x.p[k, 8*t + 1] is offset 1 of the vector that begins at 8*t.
  static Expr replaced(const Expr& leaf, const std::vector<Joined>& joined) {
    const auto* load = std::get_if<ir::Load>(&leaf->op);
    if (!load || load->lanes.count > 1 || !load->guard.empty()) return leaf;
    const std::vector<Affine> indices = subscripts(*load);
    for (const Joined& each : joined) {
      if (each.buffer->name != load->buffer ||
          !std::equal(indices.begin(), indices.end() - 1, each.indices.begin()))
        continue;
      const Affine offset = indices.back() - each.indices.back();
      if (offset.is_constant() && offset.constant() >= 0 && offset.constant() < each.count)
        return ir::make_load(leaf->type, each.registers, {ir::Index(offset)});
    }
    return leaf;
  }
};

}  // namespace

ir::LoopProgram join_loads(const ir::LoopProgram& program) {
  ir::LoopProgram result = program;
  result.body = Joiner(program).statement(program.body);
  return result;
}

}  // namespace polyte::lower
