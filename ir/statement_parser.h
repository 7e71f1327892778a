// One statement of Program text, in two steps: what is written (trees, no context), then the
// statements it means, when the buffers declared and written so far are known.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ir/builder.h"
#include "ir/expr_parser.h"

namespace polyte::ir::text {

struct WrittenRange {  // `k in 0..K`, or `k` alone
  std::string name;
  TreePtr begin, end;
};

struct WrittenAccess {
  std::string buffer;
  std::vector<TreePtr> subscripts;
};

struct WrittenStatement {
  int line = 0;
  std::string label;  // empty: none
  std::vector<WrittenAccess> writes;
  Combiner combiner = Combiner::None;
  bool in_place = false;                 // `+=`: no initial value
  std::vector<WrittenRange> reductions;  // of `= sum[...]`
  std::vector<TreePtr> values;
  std::vector<WrittenRange> ranges;
  std::vector<TreePtr> where;
  TreePtr guard;
};

// `is_tensor` decides whether `max[` starts a reduction or reads a tensor of that name.
WrittenStatement parse_statement(Cursor& cursor,
                                 const std::function<bool(const std::string&)>& is_tensor);
WrittenRange parse_range(Cursor& cursor);

// The statements it means: one, or X.init and X.update. Declares the tensors it is the first to
// write as temporaries (appended to program.buffers). Throws a Fault.
std::vector<Statement> make_statements(const WrittenStatement& written,
                                       const std::vector<Range>& regions, Program& program,
                                       DType default_type);

}  // namespace polyte::ir::text
