#include "tests/schedule/schedule_testing.h"
