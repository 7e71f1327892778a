// Strided loads that stand side by side and together read a square: it is loaded by rows,
// and shuffles turn it.
//
//   y[0; 4 by 1] = x[0; 4 by 9]        r0 = x[0..4]  r1 = x[9..13]  r2 = x[18..22]  r3 = x[27..31]
//   y[7; 4 by 1] = x[1; 4 by 9]        pairs within 16 bytes, then pairs of 16 bytes:
//   y[14; 4 by 1] = x[2; 4 by 9]       y[0] = r0.0 r1.0 r2.0 r3.0,  y[7] = r0.1 r1.1 r2.1 r3.1,  ..
//   y[21; 4 by 1] = x[3; 4 by 9]
//
// 4 loads and 8 shuffles for 16 elements, which would be 16 loads and 12 inserts. Every element
// that a row reads is read by some column, so nothing new is touched: of fewer columns than lanes
// the rows are as short, a power of two. Lanes that are masked off are rows of zeros, not read.
#include <algorithm>

#include "codegen/common/emitter.h"
#include "support/error.h"

namespace polyte::codegen {

using Value = llvm::Value;

namespace {

constexpr int kLaneBytes = 16;  // shuffles within these cost least, on every processor
constexpr int kNearLanes = 4;   // elements apart: load_near_lanes takes those

constexpr int kFewestColumns = 2;

std::size_t place(int i) { return static_cast<std::size_t>(i); }

bool is_power_of_two(int n) { return (n & (n - 1)) == 0; }

bool is_guarded(const ir::Store& s) {
  bool found = false;
  const auto visit = [&](const ir::Expr& e) {
    ir::for_each_node(e, [&](const ir::ExprNode& node) {
      const auto* load = std::get_if<ir::Load>(&node.op);
      found = found || (load != nullptr && !load->guard.empty());
    });
  };
  visit(s.value);
  for (const ir::Index& index : s.indices)
    if (index.indirect != nullptr) visit(index.indirect);
  return found;
}

// Even or odd chunks of a, then of b.
std::vector<int> every_other(int lanes, int chunk, bool odd) {
  std::vector<int> from;
  for (int at = odd ? chunk : 0; at < 2 * lanes; at += 2 * chunk)
    for (int i = 0; i < chunk; ++i) from.push_back(at + i);
  return from;
}

// In each group of `group` lanes: chunks of a and b alternate, those of the lower or of the
// upper half.
std::vector<int> interleaved(int lanes, int group, int chunk, bool upper) {
  std::vector<int> from;
  for (int begin = 0; begin < lanes; begin += group)
    for (int at = begin + (upper ? group / 2 : 0); static_cast<int>(from.size()) < begin + group;
         at += chunk)
      for (int of : {0, lanes})
        for (int i = 0; i < chunk; ++i) from.push_back(of + at + i);
  return from;
}

}  // namespace

// Loads of one buffer with one stride, by the affine part that they share and their constants.
struct FunctionEmitter::Columns {
  std::map<std::int64_t, std::vector<const ir::ExprNode*>> at;
};

void FunctionEmitter::find_squares(const std::vector<ir::Stmt>& run) {
  columns_.clear();
  squares_.clear();
  if (ops_ != nullptr) return;  // a GPU's vectors have no shuffles
  std::vector<std::string> written;
  std::vector<const ir::Store*> stores;
  for (const ir::Stmt& s : run)
    if (const auto* store = std::get_if<ir::Store>(&s->op)) stores.push_back(store);
  for (const ir::Store* store : stores) written.push_back(store->buffer);
  using Key = std::tuple<std::string, std::int64_t, int, int, ir::Affine>;
  std::map<Key, Columns> groups;
  for (const ir::Store* store : stores) {
    if (is_guarded(*store)) continue;
    ir::for_each_node(store->value, [&](const ir::ExprNode& node) {
      const auto* load = std::get_if<ir::Load>(&node.op);
      if (load == nullptr || load->lanes.count < 2 || !is_power_of_two(load->lanes.count)) return;
      const int active = known_active(load->lanes);
      if (active <= 0) return;
      const Access a = access(load->buffer, load->indices, load->lanes);
      if (a.stride <= kNearLanes || a.index.indirect != nullptr || !a.slot.cells.empty()) return;
      if (std::ranges::find(written, load->buffer) != written.end()) return;
      const std::int64_t constant = a.index.affine.constant();
      groups[{load->buffer, a.stride, load->lanes.count, active, a.index.affine - constant}]
          .at[constant]
          .push_back(&node);
    });
  }
  for (const auto& [key, columns] : groups) take_squares(columns, std::get<2>(key));
}

// As many neighbours as there are lanes are one square; of fewer, powers of two are.
void FunctionEmitter::take_squares(const Columns& columns, int lanes) {
  for (auto first = columns.at.begin(); first != columns.at.end();) {
    std::int64_t count = 0;
    for (auto at = first;
         at != columns.at.end() && count < lanes && at->first == first->first + count; ++at)
      ++count;
    while (!is_power_of_two(static_cast<int>(count))) --count;
    auto last = std::next(first, count);
    if (count >= kFewestColumns) {
      const auto square = static_cast<int>(squares_.size());
      squares_.push_back({first->second.front(), static_cast<int>(count), {}});
      for (auto column = first; column != last; ++column)
        for (const ir::ExprNode* node : column->second)
          columns_[node] = {square, static_cast<int>(column->first - first->first)};
    }
    first = last;
  }
}

// The column that this load reads; null where it is in no square.
Value* FunctionEmitter::square_column(const ir::ExprNode& node) {
  const auto found = columns_.find(&node);
  if (found == columns_.end()) return nullptr;
  Square& square = squares_[static_cast<std::size_t>(found->second.first)];
  const auto& first = std::get<ir::Load>(square.first->op);
  const Access a = access(first.buffer, first.indices, first.lanes);
  if (square.columns.empty())
    square.columns = turned(square_rows(a, square.count), size_in_bytes(a.slot.dtype));
  return arithmetic_.from_memory(a.slot.dtype,
                                 square.columns[static_cast<std::size_t>(found->second.second)]);
}

// A row may be longer than the columns that are read: nobody takes what lies beyond.
std::vector<Value*> FunctionEmitter::square_rows(const Access& a, int columns) {
  const ir::Lanes along{columns, {1}, std::nullopt};
  std::vector<int> widening(static_cast<std::size_t>(a.lanes.count), -1);
  for (int i = 0; i < columns; ++i) widening[static_cast<std::size_t>(i)] = i;
  const int active = known_active(a.lanes);
  std::vector<Value*> rows;
  for (int row = 0; row < active; ++row) {
    const ir::Index index(a.index.affine + row * a.stride);
    Value* loaded = load_memory({a.slot, index, along, 1}, nullptr);
    rows.push_back(columns == a.lanes.count ? loaded : b_.CreateShuffleVector(loaded, widening));
  }
  rows.resize(static_cast<std::size_t>(a.lanes.count),
              llvm::Constant::getNullValue(rows.front()->getType()));
  return rows;
}

// A butterfly network: log2(n) rounds of n shuffles of two vectors. The rounds within 16 bytes come
// first, as shuffles across are slower on x86; what is left is a matrix of 16-byte chunks, which
// `turned_blocks` transposes.
std::vector<Value*> FunctionEmitter::turned(std::vector<Value*> rows, int element_bytes) {
  const auto lanes = static_cast<int>(rows.size());
  const int group = std::min(lanes, std::max(1, kLaneBytes / element_bytes));
  // After a step, rows [2 chunk j, 2 chunk (j + 1)) hold chunks of as many elements, one of
  // each of these rows.
  for (int chunk = 1; chunk < group; chunk *= 2) {
    std::vector<Value*> next(rows.size());
    for (int block = 0; block < lanes; block += 2 * chunk)
      for (int p = 0; p < chunk; ++p) {
        Value* a = rows[place(block + p)];
        Value* b = rows[place(block + chunk + p)];
        for (int half : {0, 1})
          next[place(block + 2 * p + half)] =
              b_.CreateShuffleVector(a, b, interleaved(lanes, group, chunk, half == 1));
      }
    rows = std::move(next);
  }
  std::vector<Value*> columns(rows.size());
  for (int p = 0; p < group; ++p) {
    std::vector<Value*> blocks;
    for (int block = p; block < lanes; block += group) blocks.push_back(rows[place(block)]);
    const std::vector<Value*> gathered = turned_blocks(blocks, lanes, group);
    for (std::size_t q = 0; q < gathered.size(); ++q) columns[q * place(group) + p] = gathered[q];
  }
  return columns;
}

// Chunks of vectors as a matrix of its own: the even columns come from the even chunks, the odd
// ones from the odd.
std::vector<Value*> FunctionEmitter::turned_blocks(const std::vector<Value*>& rows, int lanes,
                                                   int chunk) {
  if (rows.size() == 1) return rows;
  std::vector<Value*> halves[2], result(rows.size());
  for (int odd : {0, 1}) {
    for (std::size_t i = 0; i < rows.size(); i += 2)
      halves[odd].push_back(
          b_.CreateShuffleVector(rows[i], rows[i + 1], every_other(lanes, chunk, odd == 1)));
    const std::vector<Value*> columns = turned_blocks(halves[odd], lanes, chunk);
    for (std::size_t i = 0; i < columns.size(); ++i) result[2 * i + place(odd)] = columns[i];
  }
  return result;
}

}  // namespace polyte::codegen
