#include "ir/program.h"

#include <algorithm>
#include <cctype>
#include <limits>

#include "ir/arithmetic.h"
#include "ir/program_text.h"
#include "ir/verify.h"
#include "support/error.h"

namespace polyte::ir {

POLYTE_OUT_OF_LINE_DEFAULTS(Statement)
POLYTE_OUT_OF_LINE_DEFAULTS(Region)
Region::Region(std::string over, Affine first, Affine stop, int by)
    : iterator(std::move(over)), begin(std::move(first)), end(std::move(stop)), step(by) {}
POLYTE_OUT_OF_LINE_DEFAULTS(Program)

std::string to_string(Role role) {
  switch (role) {
    case Role::In:
      return "in";
    case Role::Const:
      return "const";
    case Role::Out:
      return "out";
    case Role::InOut:
      return "inout";
    case Role::Temp:
      return "temp";
  }
  return "";
}

std::string to_string(Combiner combiner) {
  switch (combiner) {
    case Combiner::None:
      return "none";
    case Combiner::Sum:
      return "sum";
    case Combiner::Product:
      return "product";
    case Combiner::Min:
      return "min";
    case Combiner::Max:
      return "max";
    case Combiner::And:
      return "and";
    case Combiner::Or:
      return "or";
    case Combiner::ArgMin:
      return "argmin";
    case Combiner::ArgMax:
      return "argmax";
  }
  return "";
}

// --- look-up -------------------------------------------------------------------------------------

namespace {

template <class T>
const T* find_named(const std::vector<T>& items, const std::string& name) {
  const auto at = std::ranges::find_if(items, [&](const T& item) { return item.name == name; });
  return at == items.end() ? nullptr : &*at;
}

}  // namespace

const Buffer* Program::find_buffer(const std::string& wanted) const {
  return find_named(buffers, wanted);
}
const Statement* Program::find_statement(const std::string& wanted) const {
  return find_named(statements, wanted);
}

const Buffer& Program::buffer(const std::string& wanted) const {
  const Buffer* found = find_buffer(wanted);
  POLYTE_CHECK(found, "program '" + name + "' has no buffer '" + wanted + "'");
  return *found;
}

const Statement& Program::statement(const std::string& wanted) const {
  const Statement* found = find_statement(wanted);
  POLYTE_CHECK(found, "program '" + name + "' has no statement '" + wanted + "'");
  return *found;
}

std::vector<const Buffer*> Program::interface() const {
  std::vector<const Buffer*> result;
  for (const Buffer& b : buffers)
    if (b.role != Role::Temp) result.push_back(&b);
  return result;
}

std::vector<std::int64_t> constant_shape(const Buffer& buffer) {
  std::vector<std::int64_t> shape;
  for (const Affine& extent : buffer.shape) {
    POLYTE_CHECK(extent.is_constant(),
                 "buffer '" + buffer.name + "' has the open extent " + to_string(extent));
    shape.push_back(extent.constant());
  }
  return shape;
}

// --- combiners -----------------------------------------------------------------------------------

namespace {

// Of u64 by its bits: 2^64 - 1 is stored as -1.
std::int64_t largest(DType type) {
  switch (type) {
    case DType::U64:
      return -1;
    case DType::Bool:
      return 1;
    case DType::I64:
      return std::numeric_limits<std::int64_t>::max();
    default:
      break;
  }
  const int bits = 8 * size_in_bytes(type) - (is_signed_integer(type) ? 1 : 0);
  return (std::int64_t{1} << bits) - 1;
}

std::int64_t lowest(DType type) { return is_signed_integer(type) ? -largest(type) - 1 : 0; }

Expr combine(Combiner combiner, const Expr& value, const Expr& current) {
  switch (combiner) {
    case Combiner::None:
      return value;
    case Combiner::Sum: {
      if (!is_fused_product(combiner, value)) return make_binary(BinaryOp::Add, current, value);
      const auto& product = std::get<Binary>(value->op);
      return make_fma(product.a, product.b, current);
    }
    case Combiner::Product:
      return make_binary(BinaryOp::Mul, current, value);
    case Combiner::Min:
      return make_binary(BinaryOp::Min, current, value);
    case Combiner::Max:
      return make_binary(BinaryOp::Max, current, value);
    case Combiner::And:
      return make_binary(BinaryOp::And, current, value);
    case Combiner::Or:
      return make_binary(BinaryOp::Or, current, value);
    default:
      break;
  }
  POLYTE_CHECK(false, "'" + to_string(combiner) + "' combines pairs");
}

// The new pair wins by its value, or by the lower position where the values are equal (0 and -0
// are). The position is stored first, reading the old value; the value then sees the new position.
// If the new pair has won, the stored position is its own, so the value's test has to accept
// equality (Le); if it has lost a tie, it was to a lower position, and Le fails as Lt did. A NaN
// never wins: both comparisons are false.
std::vector<Expr> combine_pair(const Statement& statement, const std::vector<Expr>& current) {
  const Expr &value = statement.values[0], &position = statement.values[1];
  const bool is_max = statement.combiner == Combiner::ArgMax;
  const Expr better = is_max ? make_binary(BinaryOp::Lt, current[0], value)
                             : make_binary(BinaryOp::Lt, value, current[0]);
  const Expr equal = make_binary(BinaryOp::Eq, current[0], value);
  const auto wins = [&](BinaryOp before) {
    const Expr tie = make_binary(BinaryOp::And, equal, make_binary(before, position, current[1]));
    return make_binary(BinaryOp::Or, better, tie);
  };
  return {make_select(wins(BinaryOp::Le), value, current[0]),
          make_select(wins(BinaryOp::Lt), position, current[1])};
}

}  // namespace

bool is_fused_product(Combiner combiner, const Expr& value) {
  const auto* product = std::get_if<Binary>(&value->op);
  return combiner == Combiner::Sum && product && product->op == BinaryOp::Mul &&
         is_float(value->type);
}

Expr rounded_term(Combiner combiner, const Expr& value) {
  return is_fused_product(combiner, value)
             ? make_binary(BinaryOp::Mul, make_literal(value->type, 1), value)
             : value;
}

std::vector<Expr> combined_values(const Statement& statement, const std::vector<Expr>& current) {
  POLYTE_CHECK(current.size() == statement.values.size(), "one current value a write");
  if (statement.combiner == Combiner::ArgMin || statement.combiner == Combiner::ArgMax)
    return combine_pair(statement, current);
  std::vector<Expr> result;
  for (std::size_t i = 0; i < current.size(); ++i)
    result.push_back(combine(statement.combiner, statement.values[i], current[i]));
  return result;
}

// e with combine(e, x) = x for all x. Of a float sum it is +0, not the exact identity -0: a sum of
// only -0 comes out as +0, in the interpreter as in every code generator.
Expr identity_of(Combiner combiner, DType type) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  switch (combiner) {
    case Combiner::Sum:
      return make_literal(type, 0);
    case Combiner::Product:
      return make_literal(type, 1);
    case Combiner::Min:
    case Combiner::ArgMin:
      return is_float(type) ? make_float(type, kInfinity) : make_int(type, largest(type));
    case Combiner::Max:
    case Combiner::ArgMax:
      return is_float(type) ? make_float(type, -kInfinity) : make_int(type, lowest(type));
    case Combiner::And:
      return make_int(type, -1);
    case Combiner::Or:
      return make_int(type, 0);
    case Combiner::None:
      break;
  }
  POLYTE_CHECK(false, "an assignment has no identity");
}

// --- comparison ----------------------------------------------------------------------------------

namespace {

bool same(const Buffer& a, const Buffer& b);
bool same(const Item& a, const Item& b);

bool same(const Expr& a, const Expr& b) { return a == b || (a && b && equal(a, b)); }

bool same(const Access& a, const Access& b) {
  return a.buffer == b.buffer &&
         std::ranges::equal(a.indices, b.indices, [](const Index& s, const Index& t) {
           return s.affine == t.affine && same(s.indirect, t.indirect);
         });
}

template <class T>
bool same(const std::vector<T>& a, const std::vector<T>& b) {
  return std::ranges::equal(a, b, [](const T& s, const T& t) { return same(s, t); });
}

bool same(const Buffer& a, const Buffer& b) {
  return a.name == b.name && a.role == b.role && a.dtype == b.dtype && a.shape == b.shape;
}

bool same_conjunction(std::vector<Constraint> a, std::vector<Constraint> b) {
  std::ranges::sort(a, std::less<>());
  std::ranges::sort(b, std::less<>());
  return a == b;
}

bool same(const Item& a, const Item& b) {
  if (a.index() != b.index()) return false;
  if (const auto* index = std::get_if<std::size_t>(&a)) return *index == std::get<std::size_t>(b);
  const Region &s = std::get<Region>(a), &t = std::get<Region>(b);
  return s.iterator == t.iterator && s.begin == t.begin && s.end == t.end && s.step == t.step &&
         same(s.body, t.body);
}

}  // namespace

bool equal(const Statement& a, const Statement& b) {
  return a.name == b.name && a.iterators == b.iterators && a.region_depth == b.region_depth &&
         a.reductions == b.reductions && same_conjunction(a.domain, b.domain) &&
         a.combiner == b.combiner && same(a.writes, b.writes) && same(a.values, b.values) &&
         same(a.guard, b.guard);
}

bool equal(const Program& a, const Program& b) {
  return a.name == b.name && a.params == b.params && same_conjunction(a.context, b.context) &&
         same(a.buffers, b.buffers) &&
         std::ranges::equal(a.statements, b.statements,
                            [](const Statement& s, const Statement& t) { return equal(s, t); }) &&
         same(a.order, b.order);
}

// --- rebuilding ----------------------------------------------------------------------------------

namespace {

// The value of an index expression that reads nothing, where it is affine: M*j once M is known.
std::optional<Affine> affine_of(const Expr& e) {
  if (e->type != DType::I64) return std::nullopt;
  if (const auto* index = std::get_if<IndexValue>(&e->op)) return index->value;
  if (const auto* literal = std::get_if<Literal>(&e->op)) return Affine(literal->integer);
  const auto* binary = std::get_if<Binary>(&e->op);
  if (!binary) return std::nullopt;
  const auto a = affine_of(binary->a), b = affine_of(binary->b);
  if (!a || !b) return std::nullopt;
  if (binary->op == BinaryOp::Add) return *a + *b;
  if (binary->op == BinaryOp::Sub) return *a - *b;
  if (binary->op == BinaryOp::Mul && b->is_constant()) return *a * b->constant();
  if (binary->op == BinaryOp::Mul && a->is_constant()) return *b * a->constant();
  return std::nullopt;
}

// x[M*j] has an indirect subscript while M is open, and is x[4*j] once M is 4.
Index settled(const Index& index) {
  if (!index.indirect) return index;
  const auto value = affine_of(index.indirect);
  return value ? Index{index.affine + *value, nullptr} : index;
}

// Replaces symbols by affine expressions and renames buffers, everywhere in a Program.
struct Rebuild {
  Bindings bindings;
  std::map<std::string, std::string> buffers;

  std::string name(const std::string& old) const {
    const auto at = buffers.find(old);
    return at == buffers.end() ? old : at->second;
  }
  Expr operator()(const Expr& e) const {
    if (!e) return e;
    return rewrite(substitute(e, bindings), [&](const Expr& leaf) -> Expr {
      if (!std::holds_alternative<Load>(leaf->op)) return leaf;
      ExprNode copy = *leaf;
      Load& load = std::get<Load>(copy.op);
      load.buffer = name(load.buffer);
      for (Index& index : load.indices) index = settled(index);
      // A guard of which nothing is left goes, and `otherwise` with it.
      (*this)(load.guard);
      if (load.guard.empty()) load.otherwise = nullptr;
      return std::make_shared<const ExprNode>(std::move(copy));
    });
  }
  void operator()(std::vector<Constraint>& constraints) const {
    for (Constraint& c : constraints) c = substitute(c, bindings);
    std::erase_if(constraints, [](const Constraint& c) { return truth_of(c, {}) == Truth::True; });
  }
  void operator()(Statement& s) const {
    (*this)(s.domain);
    for (Access& write : s.writes) {
      write.buffer = name(write.buffer);
      for (Index& index : write.indices)
        index = settled({substitute(index.affine, bindings), (*this)(index.indirect)});
    }
    for (Expr& value : s.values) value = (*this)(value);
    s.guard = (*this)(s.guard);
  }
  void operator()(std::vector<Item>& items) const {
    for (Item& item : items) {
      auto* region = std::get_if<Region>(&item);
      if (!region) continue;
      region->begin = substitute(region->begin, bindings);
      region->end = substitute(region->end, bindings);
      (*this)(region->body);
    }
  }
  void operator()(Program& p) const {
    (*this)(p.context);
    for (Buffer& b : p.buffers) {
      b.name = name(b.name);
      for (Affine& extent : b.shape) extent = substitute(extent, bindings);
    }
    for (Statement& s : p.statements) (*this)(s);
    (*this)(p.order);
  }
};

// Sizes under the names of the parameters.
Values resolve(const Program& program, const Values& sizes, std::vector<std::string>& problems) {
  Values result;
  for (const auto& [name, value] : sizes) {
    const auto param = find_param(program, name);
    if (!param) problems.push_back("program '" + program.name + "' has no size " + name);
    if (value < 0)
      problems.push_back("size " + name + " is " + std::to_string(value) + ", expected 0 or more");
    if (param) result[*param] = value;
  }
  return result;
}

// A bound context; what is violated is a problem.
void check_context(const Program& before, const Bindings& bindings,
                   std::vector<std::string>& problems) {
  for (const Constraint& c : before.context) {
    if (truth_of(substitute(c, bindings), {}) == Truth::False)
      problems.push_back("program '" + before.name + "': the sizes violate " + to_string(c));
  }
}

}  // namespace

std::optional<std::string> find_param(const Program& program, const std::string& name) {
  std::string big = name;
  for (char& c : big) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  for (const std::string& candidate : {name, big, "N" + name})
    if (std::ranges::find(program.params, candidate) != program.params.end()) return candidate;
  return std::nullopt;
}

Program bind(const Program& program, const Values& sizes) {
  std::vector<std::string> problems;
  Rebuild rebuild;
  for (const auto& [name, value] : resolve(program, sizes, problems))
    rebuild.bindings.emplace(name, value);
  check_context(program, rebuild.bindings, problems);
  Program bound = program;
  rebuild(bound);
  for (const Buffer& b : bound.buffers) {
    for (const Affine& extent : b.shape) {
      if (extent.is_constant() && extent.constant() < 0)
        problems.push_back("buffer '" + b.name + "' has the extent " + to_string(extent) +
                           ", expected 0 or more");
    }
  }
  if (!problems.empty()) throw UserError(ExitStatus::InvalidInput, problems);
  std::erase_if(bound.params,
                [&](const std::string& param) { return rebuild.bindings.count(param) > 0; });
  for (const auto& [name, value] : rebuild.bindings) bound.sizes[name] = value.constant();
  // If sizes are bound one after the other, that of the Program with all of them open.
  if (!rebuild.bindings.empty()) bound.open_digest = digest(program);
  // What is inside at other sizes need not be at these.
  for (const Problem& problem : find_problems(bound))
    problems.push_back((problem.subject.empty() ? "" : problem.subject + ": ") + problem.message);
  if (!problems.empty()) throw UserError(ExitStatus::InvalidInput, problems);
  return bound;
}

// --- identity ------------------------------------------------------------------------------------

namespace {

// Iterators become r0, r1 .. (regions) and i0, i1 ..; both are simultaneous, so no name can clash
// on the way.
void rename_iterators(Statement& s) {
  Rebuild rebuild;
  std::vector<std::string> fresh;
  for (std::size_t i = 0; i < s.iterators.size(); ++i) {
    const bool region = static_cast<int>(i) < s.region_depth;
    fresh.push_back((region ? "r" : "i") + std::to_string(i));
    rebuild.bindings.emplace(s.iterators[i], Affine::symbol(fresh.back()));
  }
  rebuild(s);
  for (std::string& reduction : s.reductions)
    reduction = fresh[static_cast<std::size_t>(std::ranges::find(s.iterators, reduction) -
                                               s.iterators.begin())];
  s.iterators = fresh;
}

// `bindings` holds the regions around: its size is the depth, by which rename_iterators() names
// the same iterators of statements.
void rename_regions(std::vector<Item>& items, Bindings bindings) {
  for (Item& item : items) {
    auto* region = std::get_if<Region>(&item);
    if (!region) continue;
    region->begin = substitute(region->begin, bindings);
    region->end = substitute(region->end, bindings);
    Bindings inner = bindings;
    const std::string fresh = "r" + std::to_string(inner.size());
    inner[region->iterator] = Affine::symbol(fresh);
    region->iterator = fresh;
    rename_regions(region->body, inner);
  }
}

}  // namespace

// The same for Programs that differ in names only.
std::string canonical_text(const Program& program) {
  Program p = program;
  // Parameters by way of names that no text has: one may be called i0, and an iterator N0.
  Rebuild away, rebuild;
  for (std::size_t i = 0; i < p.params.size(); ++i) {
    const std::string number = std::to_string(i);
    away.bindings.emplace(p.params[i], Affine::symbol("$" + number));
    rebuild.bindings.emplace("$" + number, Affine::symbol("N" + number));
    p.params[i] = "N" + number;
  }
  away(p);
  for (Statement& s : p.statements) rename_iterators(s);
  rename_regions(p.order, {});
  for (std::size_t i = 0; i < p.buffers.size(); ++i)
    rebuild.buffers.emplace(p.buffers[i].name, "t" + std::to_string(i));
  rebuild(p);
  for (std::size_t i = 0; i < p.statements.size(); ++i)
    p.statements[i].name = "S" + std::to_string(i);
  p.name = "p";
  return print(p);
}

std::string digest(const Program& program) {
  return program.open_digest.empty() ? digest_of_text(program) : program.open_digest;
}

std::string digest_of_text(const Program& program) {
  // FNV-1a, 64 bits.
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char c : canonical_text(program))
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  std::string text;
  for (int shift = 60; shift >= 40; shift -= 4) text += "0123456789abcdef"[(hash >> shift) & 15];
  return text;
}

}  // namespace polyte::ir
