#include "schedule/cost/row_memory.h"

#include <algorithm>

#include "ir/contraction.h"
#include "schedule/cost/streaming.h"

namespace polyte::schedule {
namespace {

// Times the last cache's share of a core: until then lines are fetched behind arithmetic.
constexpr double kFarBeyond = 4;

bool is_same_element(const ir::Access& write, const std::vector<ir::Index>& read) {
  return std::ranges::equal(write.indices, read, [](const ir::Index& a, const ir::Index& b) {
    return !a.indirect && !b.indirect && a.affine == b.affine;
  });
}

std::vector<const ir::Load*> reads_of(const ir::Statement& s, const std::string& buffer) {
  std::vector<const ir::Load*> reads;
  for (const ir::Expr& value : s.values)
    for (const ir::Load* load : ir::loads_of(value))
      if (load->buffer == buffer) reads.push_back(load);
  return reads;
}

// The position among the statements of the last one that reads the buffer; 0: none does.
std::size_t last_reader(const Statements& statements, const std::string& buffer) {
  std::size_t last = 0;
  for (std::size_t i = 0; i < statements.size(); ++i)
    if (!reads_of(*statements[i], buffer).empty()) last = i;
  return last;
}

int mentions(const ir::Statement& s, const std::string& buffer) {
  int count = static_cast<int>(reads_of(s, buffer).size());
  for (const ir::Access& write : s.writes) count += write.buffer == buffer;
  return count;
}

int mentions(const ir::Program& program, const std::string& buffer) {
  int count = 0;
  for (const ir::Statement& s : program.statements) count += mentions(s, buffer);
  return count;
}

bool is_definition(const ir::Statement& s) {
  return s.combiner == ir::Combiner::None && !s.guard && s.writes.size() == 1 &&
         s.region_depth == 0;
}

// Bytes of the operand's rows of one block; 0 where it is not read in rows along the pass's lanes.
double bytes_of_block(const ir::Program& program, const RowChain& chain, const RowPass& pass,
                      const ir::Load& load) {
  const bool in_rows = ir::stride_of(program, load, pass.own.back()) == 1 &&
                       std::ranges::any_of(load.indices, [&](const ir::Index& index) {
                         return index.affine.as_symbol() == chain.rows.back();
                       });
  if (!in_rows || load.otherwise) return 0;
  const ir::Buffer& buffer = program.buffer(load.buffer);
  return static_cast<double>(ir::constant_shape(buffer).back() * size_in_bytes(buffer.dtype) *
                             chain.block);
}

}  // namespace

bool is_defined_and_read_by(const RowQuestion& question, const ir::Statement& own) {
  const std::string& buffer = own.writes[0].buffer;
  if (!is_definition(own) || question.program->buffer(buffer).role != ir::Role::Temp) return false;
  int reads = 0, all = 0;
  for (const ir::Statement* s : question.statements) {
    reads += static_cast<int>(reads_of(*s, buffer).size());
    all += mentions(*s, buffer);
  }
  return all == reads + 1 && all == mentions(*question.program, buffer);
}

// Inputs whose rows are worth prefetching a block ahead: the pass that reads them last, so that
// they are fetched there for the next block. Into the first cache where three blocks of rows fit in
// it.
std::vector<RowAhead> rows_ahead(const RowQuestion& question, const RowChain& chain) {
  const ir::Program& program = *question.program;
  std::vector<RowAhead> all;
  if (chain.rows.empty() ||
      bytes_of_interface(program) < static_cast<double>(question.machine->l2.bytes))
    return all;
  for (const RowPass& pass : chain.passes) {
    if (pass.own.empty() || pass.is_whole) continue;
    for (const ir::Statement* s : pass.body) {
      if (std::ranges::find(pass.sums, s) != pass.sums.end()) continue;
      for (const ir::Buffer* operand : program.interface()) {
        const std::vector<const ir::Load*> reads = reads_of(*s, operand->name);
        const double bytes =
            reads.empty() ? 0 : bytes_of_block(program, chain, pass, *reads.front());
        if (operand->role != ir::Role::In || bytes == 0) continue;
        std::erase_if(all, [&](const RowAhead& ahead) { return ahead.operand == operand->name; });
        const bool is_near = 3 * bytes <= static_cast<double>(question.machine->l1.bytes);
        all.push_back({operand->name, s->name, &pass, is_near ? 1 : 2});
      }
    }
  }
  return all;
}

// Temporaries that can lie in the memory of a result: one definition, last read by the definition
// of a result of the same type and shape, at the element that this writes. A store then hits lines
// that are in the cache, and the memory is not touched twice.
std::map<std::string, std::string> rows_in_place(const RowQuestion& question) {
  const ir::Program& program = *question.program;
  std::map<std::string, std::string> places;
  if (bytes_of_interface(program) >= static_cast<double>(question.machine->l3.bytes) * kFarBeyond)
    return places;
  for (const ir::Statement* own : question.statements) {
    if (!is_defined_and_read_by(question, *own)) continue;
    const ir::Buffer& kept = program.buffer(own->writes[0].buffer);
    const ir::Statement& user = *question.statements[last_reader(question.statements, kept.name)];
    const ir::Buffer& host = program.buffer(user.writes[0].buffer);
    const std::vector<const ir::Load*> reads = reads_of(user, kept.name);
    const bool suits = &user != own && is_definition(user) && host.role == ir::Role::Out &&
                       host.dtype == kept.dtype && host.shape == kept.shape &&
                       mentions(program, host.name) == 1;
    const bool is_free =
        std::ranges::none_of(places, [&](const auto& pair) { return pair.second == host.name; });
    if (suits && is_free && !reads.empty() && std::ranges::all_of(reads, [&](const ir::Load* load) {
          return !load->otherwise && is_same_element(user.writes[0], load->indices);
        }))
      places[kept.name] = host.name;
  }
  return places;
}

}  // namespace polyte::schedule
