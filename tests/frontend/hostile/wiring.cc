// Nodes that read what is not there, or not yet, and names that are there twice.
#include "tests/frontend/hostile/families.h"
#include "tests/frontend/hostile/writer.h"

namespace polyte::testing {

namespace {

using enum ExitStatus;

}  // namespace

void write_wiring(HostileWriter& w) {
  w.model("cycle", InvalidInput, [](ModelBuilder& b) {
    b.node("Add", {"x", "b"}, {"a"}, "first");
    b.node("Relu", {"a"}, {"b"}, "second");
    b.node("Relu", {"b"}, {"y"}, "third");
  });
  w.one("self_loop", InvalidInput, "Relu", {"y"});
  w.model("not_sorted", InvalidInput, [](ModelBuilder& b) {
    b.node("Relu", {"a"}, {"y"});
    b.node("Relu", {"x"}, {"a"});
  });
  w.model("computed_twice", InvalidInput, [](ModelBuilder& b) {
    b.node("Relu", {"x"}, {"y"}, "first");
    b.node("Abs", {"x"}, {"y"}, "second");
  });
  w.model("computes_an_input", InvalidInput, [](ModelBuilder& b) { b.node("Relu", {"x"}, {"x"}); });
  w.one("computes_an_initializer", InvalidInput, "Relu", {"x"},
        [](ModelBuilder& b) { b.floats("y", {1}, {0}); });
  w.one("dangling_operand", InvalidInput, "Relu", {"nowhere"});
  w.one("missing_operand", InvalidInput, "Add", {"x", ""});
  w.one("too_few_operands", InvalidInput, "Add", {"x"});
  w.one("too_many_operands", InvalidInput, "Relu", {"x", "x"});
  w.model("output_of_nothing", InvalidInput, [](ModelBuilder&) {});
  w.model("no_outputs", InvalidInput, [](ModelBuilder& b) {
    b.graph().clear_output();
    b.node("Relu", {"x"}, {"z"});
  });
  w.model("node_without_outputs", InvalidInput, [](ModelBuilder& b) {
    b.node("Relu", {"x"}, {"y"});
    b.node("Relu", {"x"}, {});
  });
  w.one("input_twice", InvalidInput, "Relu", {"x"}, [](ModelBuilder& b) { b.input("x", {2, 3}); });
  w.one("output_twice", InvalidInput, "Relu", {"x"}, [](ModelBuilder& b) { b.output("y"); });
  w.one("initializer_twice", InvalidInput, "Add", {"x", "w"}, [](ModelBuilder& b) {
    b.floats("w", {1}, {0});
    b.floats("w", {1}, {1});
  });
  w.model("chain_of_20000", Success, [](ModelBuilder& b) {
    std::string last = "x";
    for (int i = 0; i < 20000; ++i) {
      const std::string next = "v" + std::to_string(i);
      b.node("Relu", {last}, {next});
      last = next;
    }
    b.node("Relu", {last}, {"y"});
  });
}

}  // namespace polyte::testing
