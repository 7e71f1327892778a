#include "driver/judge/fuzz/random_pins.h"

#include <algorithm>

#include "driver/compile/build_kernel.h"
#include "schedule/script/nest_pattern.h"
#include "schedule/script/pins.h"

namespace polyte::fuzz {
namespace {

using schedule::LoopKind;
using schedule::NestTree;

// `...` above a part of a nest: any loops may be there.
NestTree gap(NestTree body) {
  return schedule::nest_path({{schedule::kRestHole}}, std::move(body));
}

// A statement's loops as the nest has them; those that mean nothing in the Program's words end
// in a quote.
struct LeafPath {
  std::string statement;
  std::vector<const schedule::NestLoop*> path;
};

// Each leaf with all loops above it, outermost first.
void collect(const NestTree& tree, std::vector<const schedule::NestLoop*> above,
             std::vector<LeafPath>& into) {
  if (const auto* leaf = std::get_if<schedule::NestLeaf>(&tree->op)) {
    into.push_back({leaf->statement, std::move(above)});
  } else if (const auto* loop = std::get_if<schedule::NestLoop>(&tree->op)) {
    above.push_back(loop);
    collect(loop->body, std::move(above), into);
  } else {
    for (const NestTree& child : std::get<schedule::NestSequence>(tree->op).children)
      collect(child, above, into);
  }
}

bool has_name(const schedule::NestLoop* loop) { return loop->name.find('\'') == std::string::npos; }

class PinDraw {
 public:
  PinDraw(const std::shared_ptr<const ir::Program>& program, const Machine& machine, Random& random)
      : program_(program), machine_(machine), random_(random) {}

  // A script with holes whose lines are read off a finished one, the witness: as long as that
  // keeps them all, the script is known to have a completion.
  RandomPins run() {
    pins_.script.name = program_->name + "/pins";
    pins_.script.program = program_->name;
    draw_witness();
    const int count = random_.between(1, 3);
    for (int i = 0; i < count; ++i) add_pin();
    if (nests_.empty() || random_.chance(20))
      nests_.push_back(line(schedule::Nest{"", schedule::nest_statement(schedule::kRestHole)}));
    pins_.script.directives = std::move(lines_);
    pins_.script.directives.insert(pins_.script.directives.end(), nests_.begin(), nests_.end());
    // As a person writes it: lines by number.
    const std::string text = schedule::print(pins_.script);
    pins_.script = schedule::parse_script(
        text.substr(0, text.find("  f32")) + text.substr(text.find('\n')), "pins");
    return std::move(pins_);
  }

 private:
  const std::shared_ptr<const ir::Program> program_;
  const Machine& machine_;
  Random& random_;
  RandomPins pins_;
  std::vector<schedule::Directive> lines_, nests_;
  std::optional<schedule::Script> witness_;
  NestTree nest_;  // of the witness, by meaning
  std::vector<LeafPath> leaves_;

  static schedule::Directive line(schedule::Operation operation) {
    return {std::move(operation), schedule::Provenance::Person, 0, {}};
  }

  void draw_witness() {
    const driver::Scheduler scheduler = random_.pick(
        std::vector{driver::Scheduler::Poly, driver::Scheduler::Poly, driver::Scheduler::Isl,
                    driver::Scheduler::Template, driver::Scheduler::Naive});
    auto script = driver::write_script(*program_, scheduler, machine_);
    if (!script) script = driver::write_script(*program_, driver::Scheduler::Naive, machine_);
    witness_ = *std::move(script);
    POLYTE_CHECK(name_loops(), "a script of ours is refused");
  }

  // The witness's nest in the words of the lines drawn so far: a `map` gives loops other names.
  // False where those lines are refused, as some are that a relaxed witness may have.
  bool name_loops() {
    const auto state =
        schedule::replay(program_, *witness_, machine_, {schedule::ProofLevel::Off, {}});
    schedule::Script open = pins_.script;
    open.directives = lines_;
    const auto pins = schedule::Pins::of(program_, open, machine_, schedule::ProofLevel::Off);
    if (!state || !pins) return false;
    nest_ = pins->by_meaning(*state);
    leaves_.clear();
    collect(nest_, {}, leaves_);
    std::erase_if(leaves_,
                  [&](const LeafPath& leaf) { return !program_->find_statement(leaf.statement); });
    return true;
  }

  void add_pin() {
    switch (random_.below(7)) {
      case 0:
        return add_split();
      case 1:
        return add_kind(LoopKind::Parallel);
      case 2:
        return add_kind(LoopKind::Vector);
      case 3:
        return add_order();
      case 4:
        return add_pair();
      case 5:
        return add_beginning();
      default:
        return add_lines();
    }
  }

  // A pin that the witness keeps leaves the script witnessed; one that it does not keep is drawn
  // all the same, and then a refusal is no failure.
  void add_form(NestTree pattern) {
    if (!pins_.is_witnessed && !stands_behind_split(pattern)) return;
    pins_.is_witnessed = pins_.is_witnessed && schedule::matches(pattern, nest_, false);
    nests_.push_back(line(schedule::Nest{"", std::move(pattern)}));
  }

  // The loops of a form are those that a split has left.
  bool stands_behind_split(const NestTree& tree) const {
    if (const auto* sequence = std::get_if<schedule::NestSequence>(&tree->op))
      return std::ranges::all_of(sequence->children,
                                 [&](const NestTree& child) { return stands_behind_split(child); });
    const auto* loop = std::get_if<schedule::NestLoop>(&tree->op);
    if (!loop) return true;
    const auto is_split = [&](const schedule::Directive& each) {
      const auto* split = std::get_if<schedule::Split>(&each.operation);
      return split && split->loop.loop == loop->name;
    };
    return std::ranges::none_of(lines_, is_split) && stands_behind_split(loop->body);
  }

  // With a size of any kind, or a hole. Forms that speak of the whole loop are void then.
  void add_split() {
    const LeafPath* leaf = a_leaf();
    if (!leaf || !lines_.empty() || !nests_.empty()) return;
    const ir::Statement& statement = program_->statement(leaf->statement);
    if (statement.iterators.empty()) return;
    const std::string& loop = random_.pick(statement.iterators);
    const bool is_hole = random_.chance(30);
    const std::string size = is_hole ? "?" : std::to_string(random_.between(2, 9));
    const schedule::Tail tail = random_.chance(60) ? schedule::Tail::Cut : schedule::Tail::Guard;
    lines_.push_back(line(schedule::Split{{"", loop}, {size}, false, {}, tail}));
    pins_.is_witnessed = false;
  }

  // The first lines of the witness, up to some point.
  void add_lines() {
    if (!lines_.empty() || witness_->directives.empty()) return;
    const std::size_t count = 1 + random_.below(witness_->directives.size());
    for (std::size_t i = 0; i < count; ++i)
      lines_.push_back(line(witness_->directives[i].operation));
    if (witness_->contract != schedule::Contract::Exact) pins_.is_witnessed = false;
    // Its later lines may have names of their own for what these have made.
    if (!nests_.empty() || !name_loops()) pins_.is_witnessed = false;
  }

  const LeafPath* a_leaf() {
    return leaves_.empty() ? nullptr : &leaves_[random_.below(leaves_.size())];
  }

  // A loop that the witness has, of a kind that it need not have there.
  void add_kind(LoopKind kind) {
    const LeafPath* leaf = a_leaf();
    if (!leaf) return;
    std::vector<const schedule::NestLoop*> loops = leaf->path;
    std::erase_if(loops, [](const auto* loop) { return !has_name(loop); });
    if (kind == LoopKind::Vector && !loops.empty()) loops = {loops.back()};
    if (loops.empty()) return;
    const std::string& loop = random_.pick(loops)->name;
    NestTree rest = schedule::nest_statement(leaf->statement);
    if (kind != LoopKind::Vector) rest = gap(rest);
    add_form(gap(schedule::nest_path({{loop, kind}}, rest)));
  }

  // Two loops of one statement, one of five times in the order that the witness does not have.
  void add_order() {
    const LeafPath* leaf = a_leaf();
    if (!leaf || leaf->path.size() < 2) return;
    std::size_t outer = random_.below(leaf->path.size() - 1);
    std::size_t inner = outer + 1 + random_.below(leaf->path.size() - outer - 1);
    if (random_.chance(20)) std::swap(outer, inner);
    if (!has_name(leaf->path[outer]) || !has_name(leaf->path[inner])) return;
    const NestTree within = gap(schedule::nest_path(
        {{leaf->path[inner]->name}}, gap(schedule::nest_statement(leaf->statement))));
    add_form(gap(schedule::nest_path({{leaf->path[outer]->name}}, within)));
  }

  // Two statements that follow each other, in as many loops as they share, or in fewer.
  void add_pair() {
    if (leaves_.size() < 2) return;
    const std::size_t first = random_.below(leaves_.size() - 1);
    const LeafPath &a = leaves_[first], &b = leaves_[first + 1];
    const auto shared =
        static_cast<std::size_t>(std::ranges::mismatch(a.path, b.path).in1 - a.path.begin());
    schedule::NestPath path;
    const std::size_t depth = random_.chance(80) ? shared : random_.below(shared + 1);
    for (std::size_t d = 0; d < depth; ++d) {
      if (!has_name(a.path[d])) return;
      path.push_back({a.path[d]->name});
    }
    add_form(schedule::nest_path(
        path, schedule::nest_sequence({gap(schedule::nest_statement(a.statement)),
                                       gap(schedule::nest_statement(b.statement))})));
  }

  // The outermost loop of a statement, and anything below it.
  void add_beginning() {
    const LeafPath* leaf = a_leaf();
    if (!leaf || leaf->path.empty() || !has_name(leaf->path.front())) return;
    add_form(schedule::nest_path({{leaf->path.front()->name, leaf->path.front()->kind}},
                                 schedule::nest_statement(schedule::kRestHole)));
  }
};

}  // namespace

RandomPins random_pins(const std::shared_ptr<const ir::Program>& program, const Machine& machine,
                       Random& random) {
  return PinDraw(program, machine, random).run();
}

}  // namespace polyte::fuzz
