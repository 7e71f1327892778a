// What the stand-in driver is made of: memory, streams, graphs, modules.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "runtime/emulator.h"
#include "runtime/shared_library.h"

namespace polyte::stand_in {

// The driver's numbers.
enum : int {
  Success = 0,
  InvalidValue = 1,
  OutOfMemory = 2,
  InvalidDevice = 101,
  InvalidImage = 200,
  NotFound = 500,
  IllegalState = 401,
  LaunchFailed = 719,
};

constexpr int kNotYet = -1;              // of an operation that waits for another stream
using Operation = std::function<int()>;  // returns a result, or kNotYet

struct Event {
  struct Stream* stream = nullptr;    // that it was last recorded in
  int64_t recorded = 0, come_by = 0;  // how often
  double milliseconds = 0;            // when it last came by
};

struct Graph {
  std::vector<Operation> operations;
};

struct Stream {
  std::deque<Operation> waiting;
  std::optional<Graph> capture;  // while it is captured
};

struct Function {
  const polyte_launch* description = nullptr;
  int64_t shared_limit = 48 * 1024;
};

struct Module {
  std::unique_ptr<runtime::SharedLibrary> library;
  std::deque<Function> functions = {};  // that were asked for: they go with it
};

class Driver {
 public:
  static Driver& get();
  std::recursive_mutex mutex;  // held by every call

  // Called first by every entry point: not 0 where it is to return that.
  int enter(const std::string& name);
  void reset();
  void fail(const std::string& name, int64_t nth, int result) { failures_[name] = {nth, result}; }
  int64_t calls(const std::string& name) const;

  int64_t limit = int64_t{1} << 40;
  int64_t allocated = 0;
  std::string fault;
  Stream standard;                          // the default one
  std::vector<Stream*> streams{&standard};  // in the order in which they were made
  std::vector<std::unique_ptr<Event>> retired;

  int allocate(uint64_t& address, int64_t bytes);
  int release(uint64_t address);
  // Of the processor: the runtime has the device's code note there what it finds, and nothing else.
  int allocate_host(void*& memory, int64_t bytes);
  void release_host(void* memory);
  bool is_memory(uint64_t address, int64_t bytes) const;
  void write(uint64_t to, const void* from, int64_t bytes);  // from: the processor's memory
  void read(void* to, uint64_t from, int64_t bytes);
  void copy(uint64_t to, uint64_t from, int64_t bytes);
  int run_kernel(const polyte_launch& launch, const int64_t* grid,
                 const std::vector<uint64_t>& arguments);

  static void put(Stream& stream, Operation operation);
  int drain(const Stream& stream);  // the others take turns with it

 private:
  struct Allocation {
    char* pages = nullptr;
    std::size_t page_bytes = 0;
    int64_t bytes = 0;
  };
  struct Failure {
    int64_t nth = 0;
    int result = 0;
  };
  class Open;
  std::map<uint64_t, Allocation> memory_;
  std::map<std::string, Failure> failures_;
  std::map<std::string, int64_t> calls_;
  int lost_ = 0;  // the result that every call has after a launch failed
  std::unique_ptr<runtime::Emulator> emulator_ = std::make_unique<runtime::Emulator>();

  void lose_waiting();
  int planned(const std::string& name);
  void define(uint64_t at, int64_t bytes);
};

}  // namespace polyte::stand_in
