// What a shell offers at TAB: asked of the program itself, of the table that --help is made
// of, so that it knows what the program knows. `polyte completion bash|zsh|fish` prints what a
// shell needs to ask.
//
//   $ polyte completion-words op --scheduler p
//
// prints "poly", and a line ":files" where a file may stand.
#pragma once

#include <string>
#include <vector>

#include "driver/cli/verb.h"

namespace polyte::cli {

inline constexpr const char* kCompletionWords = "completion-words";

// `words`: what is written after the program's name, the last one unfinished (perhaps ""). A line
// for each word that could be in its place, a tab and what it does; then ":files" or ":folders"
// where names of these could be, and ":more" where a word is not finished by what was offered.
// Returns the exit status.
int complete_words(const Verb& app, const std::vector<std::string>& words);

}  // namespace polyte::cli
