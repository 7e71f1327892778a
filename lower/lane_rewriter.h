// LaneRewriter: the body of a Vector loop for given pieces of its iterations, statement
// by statement:
//
//   y[i + v] = x[2*v] * s  piece {base 16, 16 lanes}  y[i + 16; 16 by 1] = x[32; 16 by 2] * x16(s)
//
// Loops below stay loops; each store is repeated for every piece. Throws NoLanes where there is
// no such form.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ir/facts.h"
#include "ir/loop_program.h"

namespace polyte::lower {

// Why a loop has no vector form.
struct NoLanes {
  std::string text;
};

struct Piece {
  ir::Affine base;  // value of the loop's variable in lane 0
  int lanes = 1;
  std::optional<ir::Affine> active = {}, skipped = {};  // as of Lanes
};

// Shapes of the buffers, as far as they are numbers.
using Shapes = std::map<std::string, std::vector<std::int64_t>>;
Shapes shapes_of(const ir::LoopProgram& program);

class LaneRewriter {
 public:
  LaneRewriter(std::string var, std::vector<Piece> pieces, ir::Facts& facts, const Shapes& shapes)
      : var_(std::move(var)), pieces_(std::move(pieces)), facts_(facts), shapes_(shapes) {}

  ir::Stmt rewrite(const ir::Stmt& body);

 private:
  std::string var_;
  std::vector<Piece> pieces_;
  ir::Facts& facts_;
  const Shapes& shapes_;

  bool is_still(const ir::Store& store) const;  // the lanes write one element
  ir::Stmt loop(const ir::For& loop);
  ir::Stmt branch(const ir::If& branch);
  ir::Stmt store(const ir::Store& store);
  ir::Stmt store(const ir::Store& store, const Piece& piece);
  ir::Expr expr(const ir::Expr& e, const Piece& piece);
  ir::Constraint guard(const ir::Constraint& c, const Piece& piece);
  ir::Expr load(const ir::Expr& e, const ir::Load& load, const Piece& piece);
  // Subscripts of lane 0, and how they vary.
  ir::Lanes access(std::vector<ir::Index>& indices, const Piece& piece);
  ir::Origin origin(const ir::Origin& of, const Piece& piece);
  // The value at lane 0 and its change from lane to lane; nullopt where that is not one number.
  std::optional<std::pair<ir::Affine, std::int64_t>> even_along_lanes(const ir::Affine& value,
                                                                      const Piece& piece);
  std::pair<ir::Affine, std::int64_t> along_lanes(const ir::Affine& value, const Piece& piece);
};

bool uses(const ir::Expr& e, const std::string& var);

// The widest type that a Vector loop over `var` computes with, lane by lane.
DType widest_type(const ir::Stmt& body, const std::string& var);

}  // namespace polyte::lower
