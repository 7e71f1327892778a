// What a file seems to be, by its first bytes and its name: for messages about a file of another
// kind than was expected.
//
//   file_kind("model.pt")->text    // "a PyTorch file"
#pragma once

#include <optional>
#include <string>

namespace polyte {

enum class FileKind {
  Array,     // of NumPy, .npy
  Arrays,    // of NumPy, .npz
  Artifact,  // of ours
  C,
  Image,
  Json,
  Onnx,
  Other,
  Program,  // text of ours
  PyTorch,
  Safetensors,
  Script,      // text of ours
  TensorFlow,  // TensorFlow Lite, or weights of Keras
  Zip,         // of what, is not known
};

struct KnownFile {
  FileKind kind;
  std::string text;  // "a PNG image", "Program text"
};

// None where there is no such file, or where its beginning does not tell.
std::optional<KnownFile> file_kind(const std::string& path);

// "; export it with ..": how an ONNX model is made of a file of this kind; empty where none is.
std::string export_hint(FileKind kind);

}  // namespace polyte
