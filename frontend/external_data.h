// External data of a model: the only code that opens a file which a model names. The location
// is resolved strictly beneath the model's folder, component by component: no absolute path, no
// "..", no symbolic link, a regular file; offset and length are checked against the file's size
// before anything is read. The file is opened once: what was checked is what is read, to memory
// of our own: a file that is changed or cut off later changes nothing (a mapping would show it,
// or end the process).
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "graph/graph.h"

namespace polyte::frontend {

struct ExternalData {
  std::string location;
  std::int64_t offset = 0;
  std::int64_t length = -1;  // -1: to the end of the file
};

// `size` bytes, what the tensor needs.
// UserError(InvalidInput), the message beginning with the location.
graph::Bytes read_external_data(const std::filesystem::path& folder, const ExternalData& data,
                                std::int64_t size);

}  // namespace polyte::frontend
