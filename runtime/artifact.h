// The `.polyte` artifact: a zip file (unzip lists it) of stored, 64-byte aligned members, written
// in this order:
//
//   manifest.json          ArtifactManifest, with the XXH3-128 digest of every other member
//   kernels.so             the compiled kernels, one shared object, with the digest of the
//                          manifest that they were assembled with behind it; absent when there
//                          are only copies
//   constants.bin, constants.1.bin, ...   weights, packed
//   device/<kernel>.sm_90a.cubin, device/<kernel>.ptx, ...   of a GPU: its code, which kernels.so
//                          starts
//   scripts/<group>.sched  the schedule of each group
//   report.json            what the compiler has to say
//
// open() reads the file to memory of its own, each byte once, and never looks at it again: what was
// checked is what runs, whatever becomes of the file. It checks everything: every byte of the file
// is either covered by a digest or compared with what the writer would have written, so a damaged
// or truncated file is a UserError(Artifact), never a crash. Digests find damage, not forgery: an
// artifact is code. Whether this processor can run it is the session's question.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/aligned_buffer.h"
#include "runtime/file.h"
#include "runtime/manifest.h"

namespace polyte::runtime {

// A module of the manifest for one of its architectures.
struct DeviceCode {
  std::string module, architecture;
  std::vector<std::byte> bytes;
};

// What a compiler hands over; also the way to run in place, without a file.
struct ArtifactParts {
  ArtifactManifest manifest;  // `members` is filled by the writer
  std::vector<std::byte> kernels{};
  std::vector<AlignedBuffer> constants{};
  std::vector<DeviceCode> device{};
  std::vector<std::pair<std::string, std::string>> scripts{};  // group, text
  std::string report{};                                        // JSON; may be empty
};

std::string digest_of(Bytes data);  // XXH3-128, 32 hexadecimal digits

void write_artifact(const std::string& path, const ArtifactParts& parts);

struct ZipEntry;

class Artifact {
 public:
  // `signed_by`: a file of public keys; where given, an artifact that none of them signed is a
  // UserError(Artifact), before anything of it is read as anything (runtime/signature.h).
  static std::shared_ptr<const Artifact> open(const std::string& path,
                                              const std::string& signed_by = "");
  static std::shared_ptr<const Artifact> from_parts(ArtifactParts parts);

  const std::string& source() const { return source_; }
  const ArtifactManifest& manifest() const { return manifest_; }
  Bytes kernels() const { return kernels_; }
  const std::vector<Bytes>& constants() const { return constants_; }
  // That the manifest lists.
  Bytes device_code(const std::string& module, const std::string& architecture) const;
  const std::vector<std::pair<std::string, std::string>>& scripts() const { return scripts_; }
  const std::string& report() const { return report_; }

 private:
  std::string source_;
  ArtifactManifest manifest_;
  std::optional<FileContent> file_;       // owns the bytes of an opened file
  std::vector<std::byte> owned_kernels_;  // of parts
  std::vector<AlignedBuffer> owned_constants_;
  std::vector<DeviceCode> owned_device_;
  Bytes kernels_;
  std::vector<Bytes> constants_;
  std::map<std::string, Bytes> device_;  // by member
  std::vector<std::pair<std::string, std::string>> scripts_;
  std::string report_;

  Bytes read_member(const ZipEntry& entry, const std::string& expected);
  void take_member(const std::string& name, Bytes data);
  void check_device_members() const;
};

}  // namespace polyte::runtime
