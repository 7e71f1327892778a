// A process of bench/lab_peers: we exchange lines of JSON with it, and memory that both see.
#pragma once

#include <sys/types.h>

#include <nlohmann/json.hpp>

#include <span>
#include <string>
#include <vector>

#include "support/descriptor.h"

namespace polyte::lab {

// The interpreter, and the folder that holds lab_peers; UserError(Unsupported) with what is missing
// and how to give it.
struct PythonHome {
  std::string interpreter, folder;
};
PythonHome find_python();
std::vector<std::string> python_command(const PythonHome& home, std::vector<std::string> arguments);

class PythonWorker {
 public:
  explicit PythonWorker(const PythonHome& home);
  ~PythonWorker();  // ends it
  PythonWorker(const PythonWorker&) = delete;
  PythonWorker& operator=(const PythonWorker&) = delete;

  // UserError(InvalidInput) where the process has ended, or says nothing for ten minutes.
  nlohmann::ordered_json ask(const nlohmann::ordered_json& order);
  // Does not wait; ask() then passes over its answer.
  void tell(const nlohmann::ordered_json& order);

  // Memory of both: bytes are written and read at a place; it grows as needed.
  void write(std::int64_t at, std::span<const std::byte> bytes);
  void read(std::int64_t at, std::span<std::byte> bytes) const;

 private:
  Descriptor in_, out_, memory_;
  pid_t process_ = -1;
  std::int64_t size_ = 0;
  std::string unread_;
  int unasked_ = 0;  // answers that nobody looks at

  std::string answer();
  [[noreturn]] void ended();
};

}  // namespace polyte::lab
