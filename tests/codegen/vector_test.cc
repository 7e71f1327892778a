#include <doctest/doctest.h>

#include "native.h"

using namespace polyte;
using namespace polyte::codegen::testing;
