// GMP, in which isl counts, calls abort() where the system gives no more memory. A program may be ended for that, but
// with our words and our exit status (5), not by a signal. For the command line: a library must not end its caller.
#pragma once

namespace polyte::cli {

void end_with_words_without_memory();

}  // namespace polyte::cli
