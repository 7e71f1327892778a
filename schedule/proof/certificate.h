// Certificate: what a verdict rests on, in words that another program can judge without ours. Sets
// and maps are isl's text. docs/certificate.md defines every entry; tools/verify_certificate reads
// it and shares no code with the proof.
//
// Statement i of the reference is the tuple "R<i>", of the schedule "S<i>"; buffer j is "B<j>"
// on both sides.
#pragma once

#include <string>
#include <vector>

#include "schedule/state/state.h"

namespace polyte::schedule {

struct CertificateAccess {
  std::string buffer = {};  // B<j>
  // Instance -> cell, where the guard holds; a dimension read at run time is all its extent.
  std::string cells = {};
  bool write = false;
  bool own = false;          // an update's reading of the element that it writes
  bool exact = true;         // false: which cell, or whether at all, is known at run time only
  std::string outside = {};  // instances whose guarded read takes `fill`; empty: unguarded
  std::string fill = {};     // as `operation`
};

struct CertificateStatement {
  std::string id, name, kind;
  std::string combiner = {};  // "none" assigns
  std::string domain = {};
  std::string time = {};  // instance -> time vector, the same length for all statements of one side
  // Instance -> instance of the reference; empty for copies and in the reference.
  std::string phi = {};
  // What it computes; its reads are #0, #1 ... and its index values @0, @1 ...
  std::string operation = {};
  std::vector<std::string> indices = {};  // instance -> value of @0, @1 ...
  std::vector<CertificateAccess> accesses = {};
  std::vector<std::string> iterators = {};
  // Of an update: those of a sum, or of what stands for one.
  std::vector<std::string> reductions = {};
  // Of a reference update: over which the contract lets terms change places.
  std::vector<std::string> permitted = {};
  bool atomic = false, padded = false;
  std::string thread = {};  // instance -> the number of its thread, where some buffer is of threads
  // Leading iterators that say for which iteration of its site an instance was computed.
  int prefix = 0;
};

struct CertificateBuffer {
  std::string id, name, of;  // `of`: the buffer whose elements a staged one holds
  std::string role = {};     // in, const, out, inout, temp, staged
  std::string dtype = {};
  std::string box = {};    // its cells, with the rows of its scope in front
  int scope_rows = 0;      // rows that tell its contents apart
  int alloc_rows = 0;      // of them, those that tell its memory apart
  std::string place = {};  // the buffer in whose memory it lies
  bool at_compile_time = false;
  // Registers of a block of a GPU: each cell is touched by one of its threads.
  bool of_threads = false;
};

struct CertificateLoop {
  std::string name, kind;                    // "parallel" or "vector"
  int depth = 0;                             // of the time vector
  std::vector<std::string> statements = {};  // below it
};

struct Certificate {
  std::string name, reference, basis;      // the Program's texts; the proof below is of the basis
  std::vector<std::string> rewrites = {};  // from reference to basis; premises
  std::string contract = {};
  std::vector<std::string> params = {};
  std::string context = {};  // of the parameters
  std::vector<CertificateBuffer> buffers = {};
  std::vector<CertificateStatement> program = {}, schedule = {};
  std::vector<CertificateLoop> concurrent = {};
};

Certificate make_certificate(const State& state);

}  // namespace polyte::schedule
