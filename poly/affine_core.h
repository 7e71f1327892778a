// The affine core: order, fusion and parallelism of a Program without ordered regions by isl's
// scheduler, brought back from rows to names. (Those with regions: whole_program.h.)
//
// First initial values, updates and point-wise tails are contracted into clusters over their
// common iterators (a cluster is what isl sees as one statement); reduction loops stay inside. The
// result is a tree of
//   Band      loops shared by the clusters below, in isl's order, with its flags
//   Sequence  children in order
//   Cluster   statements with the iterators that no band above has taken
// isl: Verdoolaege, "isl: an integer set library for the polyhedral model"; the schedule
// constraints as in Verdoolaege and Janssens, "Scheduling for PPCG".
#pragma once

#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "ir/program.h"
#include "support/result.h"

namespace polyte::poly {

struct Cluster {
  std::vector<const ir::Statement*> statements;  // in text order
  std::vector<std::string> iterators;            // common to all of them
  const ir::Statement* update() const;           // the reduction among them; null if none
};

struct CoreNode;
using Core = std::shared_ptr<const CoreNode>;

struct BandMember {
  std::string loop;
  bool coincident = false;  // no dependence between its iterations
  // What the loop is for each cluster, by its first statement, where it is more than an iterator of
  // that name: isl skews, shifts or reverses. Empty: plain.
  std::map<std::string, ir::Affine> rows = {};
};
struct Band {
  std::vector<BandMember> members;
  bool permutable = false;
  Core child;
};
struct CoreSequence {
  std::vector<Core> children;
};
struct CoreNode {
  std::variant<Band, CoreSequence, Cluster> op;
};

struct AffineCoreOptions {
  std::uint64_t quota = 0;  // isl operations per attempt
  bool allow_maps = true;   // skewed, shifted and reversed loops; else such attempts are declined
  bool fuse = true;         // else one strongly connected component a nest
};

struct AffineCore {
  Core root;
  // Which of the fallback chain gave it: "fused", "serial components", ...
  std::string attempt;
  std::vector<std::string> notes;  // why earlier attempts were declined
  // Those of them that isl did not finish: reported, as another run may.
  std::vector<std::string> given_up = {};
};

// Of one Program, which it keeps by reference: dependences are computed once, whatever is asked.
class AffineScheduler {
 public:
  explicit AffineScheduler(const ir::Program& program);
  ~AffineScheduler();
  AffineScheduler(const AffineScheduler&) = delete;
  AffineScheduler& operator=(const AffineScheduler&) = delete;

  // Declines where no attempt gives rows that the schedule language can say: each with its reason.
  Result<AffineCore> run(const AffineCoreOptions& options);

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

std::vector<const Cluster*> clusters_of(const Core& core);  // in order
std::vector<Core> top_nests(const Core& core);              // in order; none is a Sequence
// Some band has rows that are no iterators.
bool is_mapped(const Core& core);

}  // namespace polyte::poly
