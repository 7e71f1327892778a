// What workers of every kind are made of: pipes, a process that is started, how it ended.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

namespace polyte::lab {

// Its two ends, closed with it and in processes that are started. UserError(ResourceLimit) where
// there is none to be had.
struct Pipe {
  int ends[2] = {-1, -1};  // read, written
  Pipe();
  ~Pipe();
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  void close_end(int end);
  int take_end(int end);  // the caller closes it
};

// words[0] is a path or a name of PATH. It reads `in`, writes `out`. `memory`: a file that it has
// by the number kMemoryOfWorker, and its stderr goes nowhere; -1: none, and its stderr is ours.
// UserError(ResourceLimit) where it cannot be started.
constexpr int kMemoryOfWorker = 3;
pid_t start_process(std::vector<std::string> words, const Pipe& in, const Pipe& out,
                    int memory = -1);

// To a process that may have ended meanwhile: then nothing is written, and no signal comes.
// As write(2), or until all is written.
ssize_t write_quietly(int file, std::string_view text);
void write_all(int file, const std::string& text);

int wait_for(pid_t process);  // its status
// "ended with status 5", "was ended by signal 11 (Segmentation fault)"; "": well.
std::string how_it_ended(int status);

}  // namespace polyte::lab
