// Where the tiles of a loop count from: its first iteration, so that only the last tile is short.
// Long rows in vectors begin where a cache line does: of `A[i] = ..` for i in 1..1999 the first
// tile is short, and none of the stores behind it lies across two lines.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "ir/program.h"

namespace polyte::schedule {

// The least value of an iterator over the whole domain: of j in i + 1..N for i in 0..M it is 1.
// nullopt: no number.
std::optional<std::int64_t> first_value(const ir::Statement& s, const std::string& iterator);

// What lies along a loop that is split: no lanes; the lanes of a tile that stays in registers
// while other loops run, and is better whole; the lanes of a row that is walked vector by
// vector.
enum class Lanes { None, OfTile, OfRow };

// Of tiles that these statements share, those that have the iterator; nullopt where there are none,
// or one of them has no first value.
std::optional<std::int64_t> first_of_tiles(const ir::Program& program,
                                           std::span<const ir::Statement* const> statements,
                                           const std::string& iterator, Lanes lanes);

}  // namespace polyte::schedule
