// The families of hostile models, a file each.
#pragma once

namespace polyte::testing {

class HostileWriter;

// files.cc
void write_damaged_files(HostileWriter& w);
void write_headers(HostileWriter& w);
// bodies.cc
void write_functions(HostileWriter& w);
void write_branches(HostileWriter& w);
// wiring.cc
void write_wiring(HostileWriter& w);
// sizes.cc
void write_sizes(HostileWriter& w);
// external_data.cc
void write_external(HostileWriter& w);
// attributes.cc
void write_attributes(HostileWriter& w);
// operands.cc
void write_operands(HostileWriter& w);
// composed_operators.cc
void write_resizes(HostileWriter& w);
void write_composed(HostileWriter& w);
// indexing.cc
void write_einsums(HostileWriter& w);
void write_indexing(HostileWriter& w);
void write_top_k(HostileWriter& w);

}  // namespace polyte::testing
