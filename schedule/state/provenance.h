// Who chose a directive, and each part of a nest that a scheduler plans. Set where the choice
// is made.
#pragma once

namespace polyte::schedule {

// Printed behind a directive as `#: template`; a person's lines carry none.
enum class Provenance { Person, Template, Isl, TileModel };

}  // namespace polyte::schedule
