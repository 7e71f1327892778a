// A definition on a GPU that writes along one loop and reads along another: squares of both,
// through shared memory.
//
//   y[i, j] = x[j, i]    block i.o > block j.o > { thread > x.in; thread i.i.i, j.i > [i.i.o] > y }
//
// A warp reads a row of x and writes a row of y: whole sectors both times. What is read across is
// swizzled in shared memory, so that a column lies in different banks.
// Source: G. Ruetsch and P. Micikevicius, "Optimizing matrix transpose in CUDA", NVIDIA, 2009.
#pragma once

#include <optional>

#include "poly/point_nest.h"

namespace polyte::poly {

// None where one order of the loops suits every access.
std::optional<schedule::NestPlan> plan_square_nest(const PointNest& nest);

}  // namespace polyte::poly
