#include "frontend/onnx_reader.h"

#include <fcntl.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/stubs/logging.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <limits>

#include "support/descriptor.h"
#include "support/system_error.h"

namespace polyte::frontend {

namespace {

[[noreturn]] void fail(const std::string& name, const std::string& what) {
  throw UserError(ExitStatus::InvalidInput, name + ": " + what);
}

// The IR version, with which every writer of models begins: field 1, a small number.
// The byte 0x08 is the key of field 1 with the wire type of a number.
bool begins_model(std::string_view bytes) {
  return bytes.size() > 2 && bytes[0] == '\x08' && bytes[1] > 0 && bytes[1] < 64;
}

// Parses, or says at which byte it stopped. protobuf's own words go nowhere.
template <class Message>
Message parse(std::string_view bytes, const std::string& name, const char* what) {
  if (bytes.size() > static_cast<std::size_t>(std::numeric_limits<int>::max())) {
    throw UserError(ExitStatus::ResourceLimit,
                    name + ": " + std::to_string(bytes.size()) + " bytes, the limit is 2147483647");
  }
  Message message;
  const google::protobuf::LogSilencer silence;
  google::protobuf::io::CodedInputStream in(reinterpret_cast<const std::uint8_t*>(bytes.data()),
                                            static_cast<int>(bytes.size()));
  const bool parsed = message.ParseFromCodedStream(&in) && in.ConsumedEntireMessage();
  // Stopped at the very end of what began as a model: the file was cut off.
  if (!parsed && in.CurrentPosition() >= static_cast<int>(bytes.size()) && begins_model(bytes))
    fail(name, std::string("ends in the middle of ") + what + ", after " +
                   std::to_string(bytes.size()) + " bytes: was all of it downloaded or copied?");
  if (!parsed)
    fail(name, std::string("not ") + what + ": the bytes stop making sense at " +
                   std::to_string(in.CurrentPosition()) + " of " + std::to_string(bytes.size()));
  return message;
}

}  // namespace

std::string read_file(const std::filesystem::path& path, std::int64_t max_bytes) {
  // Without O_NONBLOCK opening a named pipe would wait for a writer, before fstat could refuse
  // it.
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) {
    const int error = errno;
    throw UserError(status_of_errno(error, ExitStatus::InvalidInput),
                    path.string() + ": cannot be opened: " + text_of_errno(error));
  }
  struct stat info{};
  if (fstat(file.get(), &info) != 0)
    fail(path.string(), std::string("cannot be read: ") + std::strerror(errno));
  if (!S_ISREG(info.st_mode)) fail(path.string(), "is not a regular file");
  if (info.st_size > max_bytes) {
    throw UserError(ExitStatus::ResourceLimit, path.string() + ": " + std::to_string(info.st_size) +
                                                   " bytes, the limit is " +
                                                   std::to_string(max_bytes));
  }
  std::string bytes(static_cast<std::size_t>(info.st_size), '\0');
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t got = read(file.get(), bytes.data() + done, bytes.size() - done);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) fail(path.string(), "ended while it was read");
    done += static_cast<std::size_t>(got);
  }
  return bytes;
}

onnx::ModelProto parse_model(std::string_view bytes, const std::string& name) {
  if (bytes.empty()) fail(name, "is empty, expected an ONNX model");
  auto model = parse<onnx::ModelProto>(bytes, name, "an ONNX model");
  if (!model.has_graph()) fail(name, "not an ONNX model: it has no graph");
  if (model.ir_version() < 1) fail(name, "not an ONNX model: it has no IR version");
  return model;
}

onnx::TensorProto parse_tensor(std::string_view bytes, const std::string& name) {
  if (bytes.empty()) fail(name, "is empty, expected a tensor");
  return parse<onnx::TensorProto>(bytes, name, "a tensor");
}

}  // namespace polyte::frontend
