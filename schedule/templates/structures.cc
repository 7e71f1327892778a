#include "schedule/templates/structures.h"

namespace polyte::schedule {

// The table is also what `polyte templates` lists, and what a template's holes are checked
// against: a hole that no code of the structure fills is an error where the template is read, not
// where it is used.
const std::vector<Structure>& structures() {
  const std::vector<std::string> tile_loops = {"lane", "row", "outer_row", "block", "turn"};
  const std::vector<std::string> tile_params = {"Mr", "Mo", "Nr", "Sq", "Kc", "Tb", "Share"};
  static const std::vector<Structure> kAll = {
      {"rows",
       "sums of rows and what is made of them, element by element: softmax, norms, means",
       {},
       {"R", "Nv", "Nt", "Np"}},
      {"contraction",
       "a sum of products whose operands are read again: matrix products, convolutions", tile_loops,
       tile_params},
      {"window", "another sum, of elements that its neighbours read too: pooling, stencils",
       tile_loops, tile_params},
      {"reduction", "any other sum", tile_loops, tile_params},
      {"transpose", "a definition that reads across the lanes of its result", {}, {"Side"}},
      {"phases",
       "a definition whose subscripts divide the loop of its lanes by a few",
       {},
       {"Phases"}},
      {"blocks",
       "a definition whose subscripts divide the loop of its lanes by half a vector or more",
       {},
       {"Block"}},
      {"recurrence", "a statement whose elements follow from those of the step before", {}, {"R"}},
      {"pointwise", "any other definition", {}, {}},
      {"gpu_attention_warps",
       "of a GPU: two sums of products, by its tensor cores, with the softmax of a row between "
       "them",
       {"row", "key", "column"},
       {"Bm", "Bn", "Depth"}},
      {"gpu_attention",
       "of a GPU: two sums of products with the softmax of a row between them",
       {"row", "key", "column"},
       {"Bm", "Bn", "Tm", "Wn", "Depth"}},
      {"gpu_rows", "of a GPU: what rows are on a CPU", {}, {"Rows", "Threads", "Few"}},
      {"gpu_product",
       "of a GPU: a sum of products that an instruction of its tensor cores computes",
       {"row", "lane", "step"},
       {"Bm", "Bn", "Wm", "Wn", "Kc", "Depth"}},
      {"gpu_contraction",
       "of a GPU: a sum of products whose operands are read by several threads",
       {"lane", "outer_lane", "row", "block"},
       {"Bm", "Tm", "Bh", "Bn", "Wn", "Kc"}},
      {"gpu_sum", "of a GPU: any other sum", {}, {"Threads"}},
      {"gpu_transpose", "of a GPU: a definition that reads across the lanes of its result", {}, {}},
      {"gpu_pointwise", "of a GPU: any other definition", {}, {"Threads"}},
  };
  return kAll;
}

}  // namespace polyte::schedule
