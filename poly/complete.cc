#include "poly/complete.h"

#include <algorithm>
#include <cstdio>
#include <set>

#include "poly/fill_sizes.h"
#include "schedule/script/own_script.h"
#include "support/stable_sort.h"

namespace polyte::poly {
namespace {

using schedule::Directive;
using schedule::Refusal;
using schedule::Script;

// Candidates are compared by price times these: poly's own script was planned as a whole, others
// are pieced together of what fits, and the reference order is the last resort.
constexpr double kOfPoly = 1, kOfOthers = 1.25, kOfReference = 1.5;
constexpr int kAdded = 1'000'000;  // number of the first added line

template <class... Kinds>
bool is_any_of(const schedule::Operation& operation) {
  return (std::holds_alternative<Kinds>(operation) || ...);
}

// Lines without which the schedule is another one.
bool is_needed(const Directive& line) {
  using namespace schedule;  // NOLINT(google-build-using-namespace): names of directives
  return is_any_of<SetParam, Let, Split, Tile, Map, Nest, Transaction, SplitReduction, Rfactor,
                   Online, ComputeInline, Precompute, View, DeferDivision, Rename, Cut>(
      line.operation);
}

std::string priced(const CompletionCandidate& candidate) {
  char cycles[32];
  std::snprintf(cycles, sizeof cycles, "%.3g", candidate.cycles);
  return candidate.source + ": " + cycles + " cycles predicted";
}

class Completer {
 public:
  Completer(const std::shared_ptr<const ir::Program>& program, const Script& partial,
            const Machine& machine)
      : program_(program), partial_(partial), machine_(machine), prover_(program) {}

  std::vector<std::string> considered;
  // One with a counterexample where there is one, the reference order's before others.
  std::optional<Refusal> last_refusal;

  std::optional<Completion> run(const std::vector<CompletionSource>& sources) {
    std::vector<CompletionCandidate> candidates;
    for (const CompletionSource& source : sources) add(source, candidates);
    sort_stably(candidates, {}, [](const CompletionCandidate& each) {
      const double bias = each.source == "poly"              ? kOfPoly
                          : each.source == "reference order" ? kOfReference
                                                             : kOfOthers;
      return each.cycles * bias;
    });
    for (const CompletionCandidate& candidate : candidates) considered.push_back(priced(candidate));
    // Cheapest first, so that the first that is proved is taken and no proof is spent on others.
    for (CompletionCandidate& candidate : candidates) {
      if (!prove(candidate)) continue;
      considered.push_back("taken: " + candidate.source);
      return Completion{std::move(candidate.script), candidate.source};
    }
    return std::nullopt;
  }

  // poly's script under the header, the reference order where it has none.
  Completion automatic(const PolyOptions& options) {
    CompletionCandidate candidate{"poly", partial_, 0, 0, 0};
    Script& script = candidate.script;
    if (const auto own = auto_schedule(*program_, machine_, options)) {
      script.directives = own->directives;
      if (!script.says_contract)
        script.contract = own->contract, script.reassociable = own->reassociable;
      candidate.added = script.directives.size();
      if (prove(candidate)) return {std::move(script), candidate.source};
    }
    script = partial_;
    script.directives.clear();
    return {std::move(script), "reference order"};
  }

 private:
  const std::shared_ptr<const ir::Program> program_;
  const Script& partial_;
  const Machine& machine_;
  schedule::Prover prover_;

  // The refusal that is reported in the end: a counterexample explains more than a line that does
  // not apply, and the reference order's speaks of the Program itself.
  void lose(const std::string& source, const Refusal& refusal) {
    considered.push_back(source +
                         ": lost: " + (refusal.directive.empty() ? "" : refusal.directive + ": ") +
                         refusal.headline);
    const bool has_one = last_refusal && !last_refusal->counterexamples.empty();
    if (!last_refusal || !has_one ||
        (source == "reference order" && !refusal.counterexamples.empty()))
      last_refusal = refusal;
  }

  void add(const CompletionSource& source, std::vector<CompletionCandidate>& candidates) {
    const CompletionTask task{program_, partial_, machine_, prover_};
    const auto sizes = sizes_for(task, source);
    if (!sizes) return lose(source.name, sizes.error());
    auto candidate = candidate_of(task, source, *sizes);
    if (!candidate) return lose(source.name, candidate.error());
    const std::string text = schedule::print(candidate->script);
    const auto is_same = [&](const CompletionCandidate& other) {
      return schedule::print(other.script) == text;
    };
    if (std::ranges::none_of(candidates, is_same)) candidates.push_back(*std::move(candidate));
  }

  // An added line that is refused is left out, unless the schedule would be another one without it.
  // The person's own lines are never left out: added ones have numbers from kAdded on, so that a
  // refusal says which it is.
  bool prove(CompletionCandidate& candidate) {
    for (;;) {
      Script numbered = candidate.script;
      for (std::size_t i = 0; i < candidate.added; ++i)
        numbered.directives[candidate.first_added + i].line = kAdded + static_cast<int>(i);
      const auto state =
          schedule::replay(program_, numbered, machine_, {schedule::ProofLevel::Full, {}});
      if (state) break;
      const Refusal& refusal = state.error();
      const std::size_t at =
          candidate.first_added + static_cast<std::size_t>(std::max(0, refusal.line - kAdded));
      if (refusal.line < kAdded || is_needed(candidate.script.directives[at])) {
        lose(candidate.source, refusal);
        return false;
      }
      considered.push_back(candidate.source + ": left out: " + refusal.directive + ": " +
                           refusal.headline);
      candidate.script.directives.erase(candidate.script.directives.begin() +
                                        static_cast<std::ptrdiff_t>(at));
      --candidate.added;
    }
    const auto broken = schedule::broken_pins(program_, partial_, candidate.script, machine_);
    if (broken.empty()) return true;
    lose(candidate.source,
         Refusal(schedule::RefusalKind::Malformed, schedule::print(broken.front())));
    return false;
  }
};

// Where lines of the person add up a sum in parts and the header names no contract, the contract
// becomes `reassoc` of the loops that the sources would add up in another order.
void allow_own_orders(Script& whole, const std::vector<CompletionSource>& sources) {
  const auto parts_a_sum = [](const Directive& line) {
    return is_any_of<schedule::SplitReduction, schedule::Rfactor>(line.operation);
  };
  if (whole.says_contract || std::ranges::none_of(whole.directives, parts_a_sum)) return;
  std::set<std::string> loops;
  for (const CompletionSource& source : sources)
    loops.insert(source.script.reassociable.begin(), source.script.reassociable.end());
  if (loops.empty()) return;
  whole.says_contract = true;
  whole.contract = schedule::Contract::Reassoc;
  whole.reassociable.assign(loops.begin(), loops.end());
}

// The header with what it leaves open.
Script with_header(const Script& partial, const ir::Program& program, const Machine& machine) {
  const Script own = schedule::own_script(program, "poly", machine);
  Script script = partial;
  if (script.digest.empty()) script.digest = own.digest;
  if (script.target.empty()) script.target = own.target;
  if (script.threads == 0) script.threads = own.threads;
  if (!script.says_dtype) script.dtype = own.dtype;
  return script;
}

bool pins_nothing(const Script& partial) {
  const schedule::PartialScript parts = schedule::parts_of(partial);
  return parts.before.empty() && parts.after.empty() &&
         std::ranges::all_of(parts.nests, [](const Directive& nest) {
           return schedule::is_rest(std::get<schedule::Nest>(nest.operation).tree);
         });
}

Refusal at_line(Refusal refusal, const Directive& line) {
  const bool is_added = refusal.line == 0 || refusal.line >= kAdded;
  if (!refusal.directive.empty() && is_added)
    refusal.details.emplace_back("tried", refusal.directive);
  refusal.line = line.line;
  refusal.file = line.file;
  refusal.directive = schedule::print(line);
  return refusal;
}

// The line that is to blame: beginnings of the script, each one line longer, are completed until
// one has no completion.
Refusal in_the_way(const std::shared_ptr<const ir::Program>& program, const Script& whole,
                   const Machine& machine, const std::vector<CompletionSource>& sources,
                   const Refusal& refusal) {
  Script some = whole;
  some.directives.clear();
  const Directive rest{
      schedule::Nest{"", schedule::nest_statement(schedule::kRestHole)}, {}, 0, {}};
  for (const Directive& line : whole.directives) {
    some.directives.push_back(line);
    Script open = some;
    if (!schedule::parts_of(some).is_open() && schedule::parts_of(whole).is_open())
      open.directives.push_back(rest);
    Completer completer(program, open, machine);
    if (completer.run(sources)) continue;
    return at_line(completer.last_refusal.value_or(refusal), line);
  }
  return refusal;
}

}  // namespace

Result<Completion, Refusal> complete(const std::shared_ptr<const ir::Program>& program,
                                     const Script& partial, const Machine& machine,
                                     const PolyOptions& options) {
  if (!schedule::has_holes(partial) && !partial.directives.empty()) {
    const auto state =
        schedule::replay(program, partial, machine, {schedule::ProofLevel::Full, {}});
    if (!state) return state.error();
    return Completion{partial, "the script itself"};
  }
  Script header = partial;  // whom it is for
  header.directives.clear();
  if (const auto state =
          schedule::replay(program, header, machine, {schedule::ProofLevel::Off, {}});
      !state)
    return state.error();
  PolyOptions own = options;
  own.considered = nullptr;
  own.keep_order =
      own.keep_order || (partial.says_contract && partial.contract == schedule::Contract::Exact);
  Script whole = with_header(partial, *program, machine);
  Completer completer(program, whole, machine);
  if (pins_nothing(partial)) return completer.automatic(own);
  const std::vector<CompletionSource> sources = completion_sources(*program, machine, own);
  allow_own_orders(whole, sources);
  auto completion = completer.run(sources);
  if (options.considered) *options.considered = std::move(completer.considered);
  if (completion) return *std::move(completion);
  const Refusal fallback = completer.last_refusal.value_or(
      Refusal(schedule::RefusalKind::Malformed, "no schedule keeps what the script says"));
  return in_the_way(program, whole, machine, {sources.front(), sources.back()}, fallback);
}

}  // namespace polyte::poly
