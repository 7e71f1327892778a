// Rewriting the expressions of statements: `leaf` sees every Load and IndexValue below s,
// in stored values, subscripts and conditions, as ir::rewrite does; the same node comes back
// where nothing changed.
#pragma once

#include <functional>

#include "ir/loop_program.h"

namespace polyte::lower {

ir::Stmt rewrite_exprs(const ir::Stmt& s, const std::function<ir::Expr(const ir::Expr&)>& leaf);

// The expressions of s itself only (a Store's value and subscripts, an If's condition), each
// as a whole.
ir::Stmt map_own_exprs(const ir::Stmt& s, const std::function<ir::Expr(const ir::Expr&)>& f);

}  // namespace polyte::lower
