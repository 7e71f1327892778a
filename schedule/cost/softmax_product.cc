#include "schedule/cost/softmax_product.h"

#include <algorithm>

#include "ir/contraction.h"
#include "ir/relations.h"
#include "schedule/cost/nest_accesses.h"
#include "schedule/state/softmax_sum.h"
#include "support/is_among.h"

namespace polyte::schedule {

namespace {

// What a conversion between floats rounds.
const ir::Expr& unrounded(const ir::Expr& e) {
  const auto* cast = std::get_if<ir::Cast>(&e->op);
  return cast && is_float(e->type) && is_float(cast->a->type) ? cast->a : e;
}

bool uses(const ir::Load& load, const std::string& iterator) {
  return std::ranges::any_of(load.indices,
                             [&](const ir::Index& index) { return index.affine.uses(iterator); });
}

// Every subscript is an iterator, each another one.
bool is_plain(const std::vector<ir::Index>& indices) {
  std::vector<std::string> names;
  for (const ir::Index& index : indices) {
    const auto symbol = index.affine.as_symbol();
    if (index.indirect || !symbol || is_among(*symbol, names)) return false;
    names.push_back(*symbol);
  }
  return true;
}

bool is_plain(const ir::Load& load) { return !load.otherwise && is_plain(load.indices); }

// Reads the statements from one on, one after the other.
class Reader {
 public:
  Reader(const ir::Program& program, std::size_t from) : program_(program), at_(from) {
    form_.begin = from;
  }

  std::optional<SoftmaxProduct> run() {
    if (!scores() || !maximum() || !weights() || !total() || !product()) return std::nullopt;
    form_.end = at_;
    if (!loops() || !stays_inside()) return std::nullopt;
    return form_;
  }

 private:
  const ir::Program& program_;
  std::size_t at_;
  SoftmaxProduct form_;

  const ir::Statement* next() const {
    return at_ < program_.statements.size() ? &program_.statements[at_] : nullptr;
  }
  const std::string& written(const ir::Statement& s) const { return s.writes.front().buffer; }

  static bool is_simple(const ir::Statement& s) {
    return s.region_depth == 0 && !s.guard && s.writes.size() == 1 &&
           is_plain(s.writes.front().indices);
  }
  // A sum or a maximum with its initial value.
  bool reduction(ir::Combiner combiner, const ir::Statement*& init, const ir::Statement*& update) {
    if (at_ + 1 >= program_.statements.size()) return false;
    init = &program_.statements[at_];
    update = &program_.statements[at_ + 1];
    if (!ir::starts_reduction(*init, *update) || update->combiner != combiner ||
        !is_simple(*update) || !is_simple(*init) || update->reductions.size() != 1)
      return false;
    at_ += 2;
    return true;
  }
  bool definition(const ir::Statement*& s) {
    s = next();
    if (!s || s->combiner != ir::Combiner::None || !is_simple(*s) || starts_reduction())
      return false;
    ++at_;
    return true;
  }
  bool starts_reduction() const {
    return at_ + 1 < program_.statements.size() &&
           ir::starts_reduction(program_.statements[at_], program_.statements[at_ + 1]);
  }

  // t = sum q * k, then definitions at its points: s = t / 8.
  bool scores() {
    if (!reduction(ir::Combiner::Sum, form_.scores_init, form_.scores)) return false;
    const ir::Statement* made = nullptr;
    while (!starts_reduction() && definition(made)) {
      if (!std::ranges::is_permutation(made->iterators, form_.scores_init->iterators) ||
          !ir::stay_at_their_point(*made, *form_.scores))
        return false;
      form_.made_of_scores.push_back(made);
    }
    return true;
  }

  bool maximum() { return reduction(ir::Combiner::Max, form_.maximum_init, form_.maximum); }

  // e = exp(x - m), or that rounded, with x the very value that m is the maximum of.
  bool weights() {
    const auto known = softmax_weights(program_, written(*form_.maximum));
    if (!definition(form_.weight) || std::ranges::find(known, form_.weight) == known.end())
      return false;
    const ir::Statement whole = with_weights(*form_.weight, {});
    const auto* exponential = std::get_if<ir::Unary>(&unrounded(whole.values.front())->op);
    const auto* difference = exponential ? std::get_if<ir::Binary>(&exponential->a->op) : nullptr;
    return difference && ir::equal(difference->a, form_.maximum->values.front());
  }

  // l = sum e, with the weights' definition put in place of e.
  bool total() {
    if (!reduction(ir::Combiner::Sum, form_.total_init, form_.total)) return false;
    return is_softmax_sum(*form_.total);
  }

  bool is_softmax_sum(const ir::Statement& update) const {
    return softmax_sum(with_weights(update, {form_.weight}), written(*form_.maximum)).has_value();
  }

  // p[i, j] = e[i, j] / l[i], or that rounded, each of them at its own iterators.
  bool is_share(const ir::Statement& s) const {
    const auto* quotient = std::get_if<ir::Binary>(&unrounded(s.values.front())->op);
    if (!quotient || quotient->op != ir::BinaryOp::Div) return false;
    const auto* weight = std::get_if<ir::Load>(&quotient->a->op);
    const auto* total = std::get_if<ir::Load>(&quotient->b->op);
    return weight && total && is_plain(*weight) && is_plain(*total) &&
           weight->buffer == written(*form_.weight) && total->buffer == written(*form_.total) &&
           ir::stay_at_their_point(s, *form_.weight) && ir::stay_at_their_point(s, *form_.total);
  }

  bool product() {
    if (!starts_reduction()) {
      if (!definition(form_.share) || !is_share(*form_.share)) return false;
    }
    if (!reduction(ir::Combiner::Sum, form_.product_init, form_.product)) return false;
    const ir::Statement* s = nullptr;
    for (std::size_t before = at_; definition(s); before = at_) {
      if (!std::ranges::is_permutation(s->iterators, form_.product_init->iterators) ||
          !ir::stay_at_their_point(*s, *form_.product)) {
        at_ = before;
        break;
      }
      form_.after.push_back(s);
    }
    return true;
  }

  // Whether the update is a contraction of two tensors, or of both converted to a wider type.
  bool is_contraction(const ir::Statement& update) const {
    ir::Statement own = update;
    const auto* product = std::get_if<ir::Binary>(&update.values.front()->op);
    if (!product) return false;
    const ir::Expr &a = unrounded(product->a), &b = unrounded(product->b);
    if (a->type == b->type) own.values = {ir::make_binary(product->op, a, b)};
    return static_cast<bool>(ir::classify_contraction(program_, own));
  }

  // Which of the loops is which, and the operands.
  bool loops() {
    if (!is_contraction(*form_.scores) || !is_contraction(*form_.product)) return false;
    form_.key = form_.maximum->reductions.front();
    form_.step = form_.scores->reductions.front();
    if (form_.product->reductions.front() != form_.key ||
        form_.total->reductions.front() != form_.key)
      return false;
    const std::string& read = written(*(form_.share ? form_.share : form_.weight));
    for (const ir::Load* load : ir::reads_of(*form_.scores))
      (uses(*load, form_.key) ? form_.keys : form_.queries) = load;
    for (const ir::Load* load : ir::reads_of(*form_.product))
      if (load->buffer != read) form_.values = load;
    if (!form_.keys || !form_.queries || !form_.values) return false;
    if (!is_plain(*form_.keys) || !is_plain(*form_.queries) || !is_plain(*form_.values))
      return false;
    return rows() && columns();
  }

  bool rows() {
    for (const std::string& loop : ir::free_iterators(*form_.maximum)) {
      const bool is_row =
          uses(*form_.queries, loop) && !uses(*form_.keys, loop) && !uses(*form_.values, loop);
      if (is_row && !form_.row.empty()) return false;
      if (is_row)
        form_.row = loop;
      else
        form_.batch.push_back(loop);
    }
    return !form_.row.empty() && std::ranges::is_permutation(ir::free_iterators(*form_.total),
                                                             ir::free_iterators(*form_.maximum));
  }

  bool columns() {
    for (const std::string& loop : ir::free_iterators(*form_.product)) {
      if (loop == form_.row || is_among(loop, form_.batch)) continue;
      if (!form_.column.empty() || !uses(*form_.values, loop)) return false;
      form_.column = loop;
    }
    std::vector<std::string> scores = form_.batch, product = form_.batch;
    scores.insert(scores.end(), {form_.row, form_.key});
    product.insert(product.end(), {form_.row, form_.column});
    return !form_.column.empty() &&
           std::ranges::is_permutation(ir::free_iterators(*form_.scores), scores) &&
           std::ranges::is_permutation(ir::free_iterators(*form_.product), product);
  }

  // Whether nothing outside the form reads what lies between the operands and the product.
  bool stays_inside() const {
    const std::vector<const ir::Statement*> all = form_.all();
    std::vector<const ir::Statement*> writers = {form_.scores, form_.maximum, form_.weight,
                                                 form_.total};
    writers.insert(writers.end(), form_.made_of_scores.begin(), form_.made_of_scores.end());
    if (form_.share) writers.push_back(form_.share);
    return std::ranges::all_of(writers, [&](const ir::Statement* s) {
      return schedule::stays_inside(program_, written(*s), *s, all);
    });
  }
};

}  // namespace

std::vector<const ir::Statement*> SoftmaxProduct::all() const {
  std::vector<const ir::Statement*> statements = {scores_init, scores};
  statements.insert(statements.end(), made_of_scores.begin(), made_of_scores.end());
  statements.insert(statements.end(), {maximum_init, maximum, weight, total_init, total});
  if (share) statements.push_back(share);
  statements.insert(statements.end(), {product_init, product});
  statements.insert(statements.end(), after.begin(), after.end());
  return statements;
}

std::optional<SoftmaxProduct> find_softmax_product(const ir::Program& program, std::size_t from) {
  if (from >= program.statements.size() || !program.open.empty()) return std::nullopt;
  return Reader(program, from).run();
}

}  // namespace polyte::schedule
