// .npy and .npz: what we write we read back bit for bit; what NumPy writes we read (tests/data
// holds its bytes as text here); what is hostile is refused by name and never crashes.
#include "runtime/npy.h"

#include <doctest/doctest.h>

#include <cstring>
#include <functional>
#include <random>

#include "runtime/compare.h"
#include "runtime/fill.h"
#include "tests/runtime/temp_dir.h"

namespace {

using namespace polyte;
using namespace polyte::runtime;
using polyte::testing::TempDir;
using polyte::testing::to_bytes;

Tensor random_tensor(DType dtype, const Shape& shape) {
  Tensor tensor(dtype, shape);
  fill(tensor, parse_fill("normal:3"), std::string(to_string(dtype)));
  return tensor;
}

// An .npy file of version 1 with the given header text and data.
std::vector<std::byte> npy(const std::string& header, const std::string& data, char version = 1) {
  std::string text = "\x93NUMPY";
  text += version;
  text += '\0';
  text += static_cast<char>(header.size() & 0xff);
  text += static_cast<char>(header.size() >> 8);
  if (version > 1) text += std::string(2, '\0');
  return to_bytes(text + header + data);
}

std::string problem_of(const std::vector<std::byte>& file) {
  try {
    parse_npy(file, "x.npy");
    return "accepted";
  } catch (const UserError& error) {
    return error.what();
  }
}

TEST_CASE("every type and shape survives a round trip") {
  const TempDir dir;
  NamedTensors tensors;
  for (int i = 0; i < kDTypeCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    for (const Shape& shape :
         {Shape{}, Shape{0}, Shape{5}, Shape{2, 3}, Shape{1, 0, 4}, Shape{2, 1, 3, 2}}) {
      const Tensor tensor = random_tensor(dtype, shape);
      write_npy(dir.file("x.npy"), tensor);
      REQUIRE(compare_bits(read_npy(dir.file("x.npy")), tensor).equal);
      tensors.emplace_back("t" + std::to_string(tensors.size()), tensor.clone());
    }
  }
  write_npz(dir.file("x.npz"), tensors);
  const NamedTensors read = read_npz(dir.file("x.npz"));
  REQUIRE(read.size() == tensors.size());
  for (std::size_t i = 0; i < read.size(); ++i) {
    CHECK(read[i].first == tensors[i].first);
    CHECK(compare_bits(read[i].second, tensors[i].second).equal);
  }
}

TEST_CASE("headers are NumPy's") {
  const Tensor x(DType::F32, {2, 3});
  const auto header = npy_header(x.view());
  CHECK(header.size() == 128);
  const std::string text(reinterpret_cast<const char*>(header.data()) + 10, header.size() - 10);
  CHECK(text.starts_with("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }  "));
  CHECK(text.back() == '\n');
  const Tensor one(DType::Bool, {7});
  const auto other = npy_header(one.view());
  CHECK(std::string(reinterpret_cast<const char*>(other.data()) + 10, 62) ==
        "{'descr': '|b1', 'fortran_order': False, 'shape': (7,), }     ");
}

TEST_CASE("other spellings of a header are read") {
  const std::string two_floats("\0\0\x80\x3f\0\0\0\x40", 8);
  const std::string headers[] = {"{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }\n",
                                 "{\"shape\": (2, ), \"descr\": \"f4\", \"fortran_order\": False}",
                                 " { 'descr' : '=f4' , 'shape':(1,2,1), 'fortran_order':False } "};
  for (const std::string& header : headers) {
    for (const char version : {1, 2, 3}) {
      const Tensor tensor = parse_npy(npy(header, two_floats, version), "x.npy");
      CHECK(tensor.as<float>()[0] == 1);
      CHECK(tensor.as<float>()[1] == 2);
    }
  }
  const Tensor big = parse_npy(
      npy("{'descr': '>i2', 'fortran_order': False, 'shape': (2,)}", {"\x01\x02\xff\xfe", 4}), "");
  CHECK(big.as<std::int16_t>()[0] == 0x102);
  CHECK(big.as<std::int16_t>()[1] == -2);
  const Tensor bools =
      parse_npy(npy("{'descr': '|b1', 'fortran_order': False, 'shape': (2,)}", {"\x05\0", 2}), "");
  CHECK(bools.as<std::uint8_t>()[0] == 1);
}

TEST_CASE("hostile and unsupported headers are refused by name") {
  const auto header = [](const std::string& descr, const std::string& shape,
                         const std::string& order = "False") {
    return "{'descr': " + descr + ", 'fortran_order': " + order + ", 'shape': " + shape + ", }\n";
  };
  const std::string four(4, '\0');
  CHECK(problem_of(npy(header("'<f4'", "(1,)"), four)) == "accepted");
  CHECK(problem_of(npy(header("'|O'", "(1,)"), four)) ==
        "array 'x.npy' holds Python objects (a pickle), which are never read");
  CHECK(problem_of(npy(header("'<c8'", "(1,)"), four)) ==
        "array 'x.npy' has element type '<c8', which is not supported");
  CHECK(problem_of(npy(header("[('a', '<f4')]", "(1,)"), four)) ==
        "array 'x.npy' has a structured element type, which is not supported");
  CHECK(problem_of(npy(header("'<f4'", "(1,)", "True"), four)) ==
        "array 'x.npy' is in Fortran order; save it with numpy.ascontiguousarray");
  CHECK(problem_of(npy(header("'<f4'", "(2,)"), four)) ==
        "array 'x.npy' has 4 bytes of data, its shape [2] needs 8");
  CHECK(problem_of(npy(header("'<f4'", "(1,)"), four + "x")) ==
        "array 'x.npy' has 5 bytes of data, its shape [1] needs 4");
  CHECK(problem_of(npy(header("'<f4'", "(1099511627776,)"), four)).find("needs 4398046511104") !=
        std::string::npos);
  CHECK(problem_of(npy(header("'<f8'", "(4611686018427387904, 4)"), four)).find("size overflow") ==
        0);
  CHECK(problem_of(npy(header("'<f8'", "(99999999999999999999,)"), four)) ==
        "array 'x.npy' has a size in its shape that is no 63-bit number");
  CHECK(problem_of(npy(header("'<f4'", "(-1,)"), four)) ==
        "array 'x.npy' has a size in its shape that is no 63-bit number");
  for (const std::string bad :
       {"", "{", "{'descr'", "{'descr': '<f4'}", "{'a': 1}", "{'descr': '<f4', 'descr': '<f4'}",
        "{'shape': (1,", "{'shape': (1 2)}", "__import__('os')", "{'descr': '<f4"}) {
    CAPTURE(bad);
    CHECK(problem_of(npy(bad, four)).starts_with("array 'x.npy' has "));
  }
  CHECK(problem_of(npy(header("'<f4'", "(1,)") + "x", four)) ==
        "array 'x.npy' has text after its header");
  CHECK(problem_of(to_bytes("PK")) == "array 'x.npy' is not an .npy file");
  CHECK(problem_of(npy("{}", "", 9)) == "array 'x.npy' has .npy version 9, expected 1 to 3");
}

// Every truncation and every flip of a byte must end in a tensor or a UserError.
void survive(const std::vector<std::byte>& file,
             const std::function<void(const std::vector<std::byte>&)>& read) {
  const auto attempt = [&](const std::vector<std::byte>& bytes) {
    try {
      read(bytes);
    } catch (const UserError& error) {
      CHECK_FALSE(error.problems().empty());
    }
  };
  std::vector<std::byte> copy = file;
  for (std::size_t i = 0; i < file.size(); ++i) {
    for (const int mask : {0x01, 0x80, 0xff}) {
      copy[i] = file[i] ^ static_cast<std::byte>(mask);
      attempt(copy);
    }
    copy[i] = file[i];
    attempt({file.begin(), file.begin() + static_cast<std::ptrdiff_t>(i)});
  }
}

TEST_CASE("damaged files never crash") {
  const TempDir dir;
  const Tensor x = random_tensor(DType::F32, {2, 3});
  write_npy(dir.file("x.npy"), x);
  survive(testing::read_file(dir.file("x.npy")), [](const auto& bytes) { parse_npy(bytes, "x"); });
  write_npz(dir.file("x.npz"), {});
  NamedTensors two;
  two.emplace_back("a", x.clone());
  two.emplace_back("b", random_tensor(DType::I8, {5}));
  write_npz(dir.file("x.npz"), two);
  const std::string copy = dir.file("y.npz");
  survive(testing::read_file(dir.file("x.npz")), [&](const auto& bytes) {
    testing::write_file(copy, bytes);
    read_npz(copy);
  });
}

TEST_CASE("files that are none are refused") {
  const TempDir dir;
  CHECK_THROWS_AS(read_npy(dir.file("absent.npy")), UserError);
  CHECK_THROWS_AS(read_npy(dir.file("")), UserError);
  CHECK_THROWS_AS(write_npy(dir.file("no/such/folder.npy"), Tensor()), UserError);
  testing::write_file(dir.file("empty.npz"), {});
  CHECK_THROWS_AS(read_npz(dir.file("empty.npz")), UserError);
}

}  // namespace
