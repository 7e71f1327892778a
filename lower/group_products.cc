#include "lower/group_products.h"

#include <algorithm>

#include "ir/intrinsics.h"

namespace polyte::lower {
namespace {

using ir::Stmt;
using Step = ir::ProductGroup::Step;

bool is_product(const Stmt& s) {
  const auto* tensorized = std::get_if<ir::Tensorized>(&s->op);
  const ir::Intrinsic* row = tensorized ? ir::find_intrinsic(tensorized->intrinsic) : nullptr;
  return row && row->scope == ir::Scope::Warpgroup;
}

// Open becomes wgmma.fence, without which the instructions may read registers that are still being
// written; Commit and Wait become wgmma.commit_group and wgmma.wait_group (PTX ISA, "Asynchronous
// warpgroup level matrix instructions").
Stmt grouped(std::vector<Stmt> products) {
  products.insert(products.begin(), ir::make_product_group({Step::Open, 0}));
  products.push_back(ir::make_product_group({Step::Commit, 0}));
  products.push_back(ir::make_product_group({Step::Wait, 0}));
  return ir::make_block(std::move(products));
}

// Products that follow each other, with nothing but fences between, are one group: they overlap.
Stmt visit(const Stmt& s) {
  if (is_product(s)) return grouped({s});
  const auto* block = std::get_if<ir::Block>(&s->op);
  if (!block) return ir::rewrite_children(s, visit);
  std::vector<Stmt> body;
  for (auto at = block->body.begin(); at != block->body.end();) {
    const auto end = std::find_if_not(at, block->body.end(), [](const Stmt& each) {
      return is_product(each) || std::holds_alternative<ir::Fence>(each->op);
    });
    if (std::none_of(at, end, is_product)) {
      body.push_back(visit(*at++));
    } else {
      body.push_back(grouped({at, end}));
      at = end;
    }
  }
  return ir::make_block(std::move(body));
}

}  // namespace

ir::LoopProgram group_products(const ir::LoopProgram& program) {
  ir::LoopProgram result = program;
  result.body = visit(program.body);
  return result;
}

}  // namespace polyte::lower
