// Where the system gives no more memory, C++ calls abort() for a std::bad_alloc that nobody
// can catch: of an initialiser, in a destructor. A program may be ended for that, but with
// our words and our exit status (5), not by a signal. For the command line: a library must
// not end its caller.
#pragma once

namespace polyte::cli {

void end_with_words_without_memory();

}  // namespace polyte::cli
