// The graphs that the goldens of tests/passes/graph begin with: small, and on small integers exact,
// with one thing each that a pass is about.
#pragma once

#include <string>

#include "graph/graph.h"

namespace polyte::testing {

graph::Graph graph_named(const std::string& name);  // fails the test where there is none such

}  // namespace polyte::testing
