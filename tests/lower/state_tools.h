// Editing States by hand, for tests of lower alone: splits and trees without the primitives
// and their proofs.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "ir/builder.h"
#include "schedule/state/nest_tree.h"
#include "schedule/state/state.h"

namespace polyte::test {

using ir::Affine;
using schedule::Tree;

inline Affine sym(const std::string& name) { return Affine::symbol(name); }

// Rows loop -> loop.o, loop.i in every statement that has the loop; the tree is left to the caller.
inline void split(schedule::State& state, const std::string& loop, std::int64_t factor) {
  const std::string tiles = schedule::tiles_of(loop), within = schedule::within_tile(loop);
  const Affine outer = sym(tiles), inner = sym(within);
  for (schedule::ScheduledStatement& s : state.statements) {
    std::vector<schedule::LoopRow> rows;
    bool owns = false;
    for (const schedule::LoopRow& row : s.rows) {
      if (row.loop != loop) {
        rows.push_back(row);
        continue;
      }
      owns = true;
      rows.push_back({tiles, ir::floor_div(row.value, factor)});
      rows.push_back({within, ir::mod(row.value, factor)});
    }
    if (!owns) continue;
    s.rows = rows;
    const ir::Bindings digits = {{loop, outer * factor + inner}};
    for (auto& [iterator, value] : s.inverse) value = ir::substitute(value, digits);
    for (ir::Constraint& c : s.loop_domain) c = ir::substitute(c, digits);
    s.loop_domain.push_back(ir::at_least(inner, 0));
    s.loop_domain.push_back(ir::less_than(inner, factor));
  }
}

// The statement runs where the loop, which it has not, has this value.
inline void pin(schedule::State& state, const std::string& statement, const std::string& loop,
                const Affine& value) {
  for (schedule::ScheduledStatement& s : state.statements)
    if (s.body.name == statement) {
      s.rows.push_back({loop, value});
      s.loop_domain.push_back(ir::equal(sym(loop), value));
    }
}

// "par n.o", "[m.i]", "<n.i>", "k"
inline Tree loop(schedule::State& state, std::string text, Tree body) {
  schedule::Loop result;
  result.id = state.fresh_loop();
  if (text.rfind("par ", 0) == 0) {
    result.kind = ir::LoopKind::Parallel;
    text = text.substr(4);
  } else if (text[0] == '[' || text[0] == '<') {
    result.kind = text[0] == '[' ? ir::LoopKind::Unrolled : ir::LoopKind::Vector;
    text = text.substr(1, text.size() - 2);
  }
  result.name = text;
  result.body = std::move(body);
  return schedule::make_loop(std::move(result));
}

inline Tree nest(schedule::State& state, const std::vector<std::string>& loops, Tree body) {
  for (std::size_t i = loops.size(); i-- > 0;) body = loop(state, loops[i], std::move(body));
  return body;
}

inline Tree leaf(const std::string& statement) { return schedule::make_leaf({statement, {}, {}}); }

// Puts the rows of every statement into the order of the tree.
inline void order_rows(schedule::State& state) {
  for (schedule::ScheduledStatement& s : state.statements) {
    std::vector<schedule::LoopRow> rows;
    for (const schedule::Loop* l : schedule::path_to(state.tree, s.body.name))
      for (const schedule::LoopRow& row : s.rows)
        if (row.loop == l->name) rows.push_back(row);
    s.rows = rows;
  }
}

// acc[m, n] = sum[k] x[m, k] * w[k, n];  y[m, n] = max(acc[m, n] + b[n], 0)
inline ir::Program dense(std::int64_t M, std::int64_t N, std::int64_t K) {
  ir::ProgramBuilder p("dense_relu");
  p.declare("x", ir::Role::In, DType::F32, {M, K});
  p.declare("w", ir::Role::Const, DType::F32, {K, N});
  p.declare("b", ir::Role::In, DType::F32, {N});
  p.declare("y", ir::Role::Out, DType::F32, {M, N});
  const Affine m = sym("m"), n = sym("n"), k = sym("k");
  p.reduce({"acc", {m, n}}, {{"m", 0, M}, {"n", 0, N}}, {{"k", 0, K}}, ir::Combiner::Sum,
           ir::make_binary(ir::BinaryOp::Mul, p.load("x", {m, k}), p.load("w", {k, n})));
  p.define(
      {"y", {m, n}}, {{"m", 0, M}, {"n", 0, N}},
      ir::make_binary(ir::BinaryOp::Max,
                      ir::make_binary(ir::BinaryOp::Add, p.load("acc", {m, n}), p.load("b", {n})),
                      ir::make_float(DType::F32, 0)));
  return p.build();
}

// par n.o > k.o > m.o > { [m.i] > <n.i> > acc.init when first k.o; k.i > [m.i] > <n.i> > acc.update
//                       ; [m.i] > <n.i> > y when last k.o }
// acc in registers at m.o where k is not split
struct Tiles {
  std::int64_t m, n, k;
};
inline schedule::State tiled_dense(std::int64_t M, std::int64_t N, std::int64_t K, Tiles tiles,
                                   bool stage_acc = false) {
  schedule::State state = schedule::reference_state(std::make_shared<ir::Program>(dense(M, N, K)));
  split(state, "m", tiles.m);
  split(state, "n", tiles.n);
  split(state, "k", tiles.k);
  pin(state, "acc.init", "k.o", 0);
  pin(state, "y", "k.o", (K - 1) / tiles.k);
  const std::vector<std::string> tile = {"[m.i]", "<n.i>"};
  Tree body = schedule::make_sequence({nest(state, tile, leaf("acc.init")),
                                       nest(state, {"k.i", "[m.i]", "<n.i>"}, leaf("acc.update")),
                                       nest(state, tile, leaf("y"))});
  body = loop(state, "m.o", std::move(body));
  const schedule::LoopId scope = std::get<schedule::Loop>(body->op).id;
  state.tree = nest(state, {"par n.o", "k.o"}, std::move(body));
  order_rows(state);
  if (!stage_acc) return state;
  // acc.r[m.i, n.i]: only right where k is not split, for it is neither read in nor written out
  state.staged.push_back(
      {"acc.r", "acc", DType::F32, {tiles.m, tiles.n}, ir::Memory::Register, scope, false});
  for (schedule::ScheduledStatement& s : state.statements) {
    const std::vector<ir::Index> cell = {ir::mod(sym("m"), tiles.m), ir::mod(sym("n"), tiles.n)};
    for (ir::Access& write : s.body.writes)
      if (write.buffer == "acc") write = {"acc.r", cell};
    for (ir::Expr& value : s.body.values)
      value = ir::rewrite(value, [&](const ir::Expr& e) {
        const auto* load = std::get_if<ir::Load>(&e->op);
        return load && load->buffer == "acc" ? ir::make_load(e->type, "acc.r", cell) : e;
      });
  }
  return state;
}

}  // namespace polyte::test
