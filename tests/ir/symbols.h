// Names that tests of affine expressions share.
#pragma once

#include "ir/affine.h"

namespace polyte::test {

inline const ir::Affine i = ir::Affine::symbol("i"), j = ir::Affine::symbol("j"),
                        n = ir::Affine::symbol("N");

}  // namespace polyte::test
