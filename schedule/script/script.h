// Script: how a Program is computed, as an ordered list of directives that a person can read,
// edit and replay. Both schedulers write it. docs/script-text.md has the grammar and the meaning
// of each line.
//
//   schedule dense_relu/1 for dense_relu@7c3f91 on znver5 f32 exact
//   param Mr = 12, Nr = 2*L, Kc = 384   where (Mr + 1) * Nr/L <= registers - 2
//   split m by Mr, n by Nr, k by Kc     tail cut
//   nest  par n.o > k.o > m.o > { [m.i] > <n.i> > acc.init when first k.o; ... }
//   stage acc at m.o in register
//
// Sizes are integer expressions over params, L (lanes of a vector of the script's type), registers,
// cores and the Program's constant sizes; they stay symbolic in the Script and are evaluated at
// replay, in textual order.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "schedule/script/directives.h"
#include "schedule/state/provenance.h"

namespace polyte::schedule {

// A line of a script: what it says, and who chose it (`#: isl`).
struct Directive {
  Operation operation;
  Provenance provenance = Provenance::Person;
  int line = 0;           // in its file; 0: made by a program
  std::string file = {};  // of an `include`, as written there; empty: the script itself
};

// A value; nothing in it is proved. schedule::replay applies it to a Program.
struct Script {
  std::string name;     // "dense_relu/1"
  std::string program;  // the Program's name
  std::string digest;   // ir::digest of the Program; empty: not checked
  std::string target;   // LLVM CPU name; empty: any
  // That loops were shared among, the value of `cores`; 0: this machine's.
  int threads = 0;
  DType dtype = DType::F32;               // the type whose lanes L counts
  Contract contract = Contract::Exact;    // whether loops may add terms in another order
  std::vector<std::string> reassociable;  // loops of `reassoc`
  // The header that was read does; else a completion may choose.
  bool says_dtype = false, says_contract = false;
  std::vector<Directive> directives;  // applied in this order
};

std::string print(const Script& script);        // what was included stands in its place
std::string print(const Directive& directive);  // its line, with who chose it

// Text of the file that `include "name"` means, seen from the file `from`; UserError where there
// is none.
struct IncludedText {
  std::string path;  // tells files apart, for cycles
  std::string text;
};
// Reads what `include "name"` in the file `from` means.
using Includer = std::function<IncludedText(const std::string& name, const std::string& from)>;
// UserError(InvalidInput), all problems. Without an includer a script includes nothing.
Script parse_script(std::string_view text, const std::string& origin,
                    const Includer& includer = {});
// The script in a file, which may include files of its folder and below.
Script read_script(const std::string& path);

// Gives params and lets other values, holes above all: `Mr=14`. UserError(Usage) lists the names
// there are.
void fill(Script& script, const std::map<std::string, std::string>& values);

}  // namespace polyte::schedule
