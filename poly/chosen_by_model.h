// Who said the lines of a GPU's planners: the model that prices their tiles.
#pragma once

#include "schedule/script/script.h"

namespace polyte::poly {

inline constexpr schedule::Provenance kModel = schedule::Provenance::TileModel;

}  // namespace polyte::poly
