#include "support/file_kind.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string_view>

namespace polyte {
namespace {

constexpr std::size_t kBegin = 4096;  // bytes that are looked at, and as many at the end of a zip

struct Magic {
  std::string_view bytes;
  FileKind kind;
  const char* text;
};
using namespace std::string_view_literals;
constexpr Magic kMagics[] = {
    {"\x89PNG"sv, FileKind::Image, "a PNG image"},
    {"\xff\xd8\xff"sv, FileKind::Image, "a JPEG image"},
    {"GIF8"sv, FileKind::Image, "a GIF image"},
    {"\x93NUMPY"sv, FileKind::Array, "a NumPy array (.npy)"},
    {"\x89HDF"sv, FileKind::TensorFlow, "an HDF5 file (weights of Keras?)"},
    {"\x80\x02"sv, FileKind::PyTorch, "a pickle (an old PyTorch file?)"},
    {"\x80\x04"sv, FileKind::PyTorch, "a pickle of Python"},
    {"GGUF"sv, FileKind::Other, "a GGUF file (weights of llama.cpp)"},
    {"\x7f"
     "ELF"sv,
     FileKind::Other, "a program or an object (ELF)"},
    {"\x1f\x8b"sv, FileKind::Other, "compressed by gzip"},
    {"%PDF"sv, FileKind::Other, "a PDF document"},
    {"<?xml"sv, FileKind::Other, "XML"},
    {"#!"sv, FileKind::Other, "a script of a shell or of Python"},
    {"schedule "sv, FileKind::Script, "a script"},
};

std::string bytes_of(const std::string& path, bool at_end) {
  std::ifstream file(path, std::ios::binary);
  std::error_code error;
  const std::uintmax_t size = std::filesystem::file_size(path, error);
  if (at_end && !error && size > kBegin) file.seekg(static_cast<std::streamoff>(size - kBegin));
  std::string bytes(kBegin, '\0');
  file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  bytes.resize(static_cast<std::size_t>(file.gcount()));
  return bytes;
}

// By the names of its members, which are at its end as well.
KnownFile zip_kind(const std::string& path, const std::string& begin) {
  const std::string bytes = begin + bytes_of(path, true);
  const auto has = [&](std::string_view name) { return bytes.find(name) != std::string::npos; };
  if (has("manifest.json")) return {FileKind::Artifact, "an artifact"};
  if (has("data.pkl") || has("constants.pkl")) return {FileKind::PyTorch, "a PyTorch file"};
  if (has("model.weights.h5")) return {FileKind::TensorFlow, "a Keras model"};
  if (has(".npy")) return {FileKind::Arrays, "NumPy arrays (.npz)"};
  return {FileKind::Zip, "a zip archive"};
}

// The length of a JSON header, in eight bytes, before it.
bool is_safetensors(const std::string& begin) {
  if (begin.size() < 10 || begin[8] != '{') return false;
  std::uint64_t length = 0;
  for (std::size_t i = 8; i-- > 0;) length = length << 8U | static_cast<unsigned char>(begin[i]);
  return length < (100U << 20U);
}

bool is_json(const std::string& begin) {
  const std::size_t open = begin.find_first_not_of(" \t\r\n");
  if (open == std::string::npos || begin[open] != '{') return false;
  const std::size_t next = begin.find_first_not_of(" \t\r\n", open + 1);
  return next != std::string::npos && (begin[next] == '"' || begin[next] == '}');
}

// As its parser sees it: comments and blank lines before the header are skipped.
bool begins_program(const std::string& begin) {
  std::size_t at = 0;
  while (at < begin.size() && (begin[at] == '\n' || begin[at] == ' ' || begin[at] == '#')) {
    if (begin[at] != '#') {
      ++at;
      continue;
    }
    at = std::min(begin.find('\n', at), begin.size());
  }
  return begin.compare(at, 8, "program ") == 0;
}

}  // namespace

std::optional<KnownFile> file_kind(const std::string& path) {
  const std::string begin = bytes_of(path, false);
  if (begin.empty()) return std::nullopt;
  if (begin.starts_with("PK\x03\x04")) return zip_kind(path, begin);
  for (const Magic& magic : kMagics)
    if (begin.starts_with(magic.bytes)) return KnownFile{magic.kind, magic.text};
  if (begin.size() >= 8 && begin.compare(4, 4, "TFL3") == 0)
    return KnownFile{FileKind::TensorFlow, "a TensorFlow Lite model"};
  if (is_safetensors(begin))
    return KnownFile{FileKind::Safetensors, "a safetensors file (weights alone)"};
  if (begins_program(begin)) return KnownFile{FileKind::Program, "Program text"};
  // ONNX is protobuf, which begins with no signature: only the name is left to go by.
  if (path.ends_with(".onnx")) return KnownFile{FileKind::Onnx, "an ONNX model"};
  if (path.ends_with(".c")) return KnownFile{FileKind::C, "C"};
  if (is_json(begin)) return KnownFile{FileKind::Json, "JSON"};
  return std::nullopt;
}

std::string export_hint(FileKind kind) {
  if (kind == FileKind::PyTorch)
    return "; torch.onnx.export(model, inputs, 'model.onnx') writes an ONNX model";
  if (kind == FileKind::Safetensors)
    return "; torch.onnx.export of the model that has these weights writes an ONNX model";
  if (kind == FileKind::TensorFlow)
    return "; tf2onnx (python -m tf2onnx.convert) writes an ONNX model";
  return "";
}

}  // namespace polyte
