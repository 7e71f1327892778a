// NumPy's .npy (versions 1 to 3) and .npz files. All our element types; bfloat16 is written as
// NumPy writes it, 2-byte records ('<V2'; ml_dtypes reads them by view). Both byte orders are read.
//
// Files are hostile until checked: the header is parsed by its grammar and never evaluated, sizes
// are compared with the file before memory is taken, and an archive's members are unpacked one
// by one, when they are asked for; objects (pickles), strings, structures, complex numbers and
// Fortran-ordered arrays are refused by name.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "runtime/file.h"
#include "runtime/tensor.h"
#include "runtime/zip.h"

namespace polyte::runtime {

using NamedTensors = std::vector<std::pair<std::string, Tensor>>;

Tensor parse_npy(Bytes file, const std::string& source);  // `source` names the file in messages
Tensor read_npy(const std::string& path);
// A multiple of 64 bytes; the data follows.
std::vector<std::byte> npy_header(const TensorView& tensor);
void write_npy(const std::string& path, const Tensor& tensor);

// An archive of which only the headers have been read: what has the wrong type is never unpacked.
class NpzArchive {
 public:
  struct Member {
    std::string name;  // without ".npy"
    DType dtype;
    Shape shape;
  };
  explicit NpzArchive(const std::string& path);
  const std::vector<Member>& members() const { return members_; }  // in the order of the archive
  Tensor read(std::size_t member);

 private:
  FileContent file_;
  std::vector<ZipEntry> entries_;
  std::vector<Member> members_;
};
// In the order of the archive, names without ".npy".
NamedTensors read_npz(const std::string& path);
void write_npz(const std::string& path, const NamedTensors& tensors);

}  // namespace polyte::runtime
