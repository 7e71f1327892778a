#include "lower/rewrite_exprs.h"

namespace polyte::lower {
namespace {

ir::Stmt map_store(const ir::Stmt& s, const ir::Store& store,
                   const std::function<ir::Expr(const ir::Expr&)>& f) {
  ir::Store copy = store;
  copy.value = f(store.value);
  // An unchanged statement is returned as it is, so that passes which change nothing build nothing.
  bool changed = copy.value != store.value;
  for (ir::Index& index : copy.indices) {
    if (!index.indirect) continue;
    ir::Expr mapped = f(index.indirect);
    changed = changed || mapped != index.indirect;
    index.indirect = std::move(mapped);
  }
  return changed ? ir::make_store(std::move(copy)) : s;
}

}  // namespace

ir::Stmt map_own_exprs(const ir::Stmt& s, const std::function<ir::Expr(const ir::Expr&)>& f) {
  if (const auto* store = std::get_if<ir::Store>(&s->op)) return map_store(s, *store, f);
  const auto* branch = std::get_if<ir::If>(&s->op);
  if (!branch || !branch->condition) return s;
  ir::Expr mapped = f(branch->condition);
  if (mapped == branch->condition) return s;
  return ir::make_if({branch->conditions, std::move(mapped), branch->body});
}

ir::Stmt rewrite_exprs(const ir::Stmt& s, const std::function<ir::Expr(const ir::Expr&)>& leaf) {
  const ir::Stmt own = map_own_exprs(s, [&](const ir::Expr& e) { return ir::rewrite(e, leaf); });
  return ir::rewrite_children(own,
                              [&](const ir::Stmt& child) { return rewrite_exprs(child, leaf); });
}

}  // namespace polyte::lower
