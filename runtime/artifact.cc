#include "runtime/artifact.h"

#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "runtime/signature.h"
#include "runtime/zip.h"
#include "support/error.h"

namespace polyte::runtime {

namespace {

std::string text_of(const XXH128_hash_t& hash) {
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, hash);
  std::string text;
  for (const unsigned char byte : canonical.digest) {
    text += "0123456789abcdef"[byte >> 4];
    text += "0123456789abcdef"[byte & 15];
  }
  return text;
}

}  // namespace

std::string digest_of(Bytes data) { return text_of(XXH3_128bits(data.data(), data.size())); }

namespace {

constexpr std::uint64_t kMaxManifest = std::uint64_t{256} << 20;
constexpr const char* kManifest = "manifest.json";
constexpr const char* kKernels = "kernels.so";
constexpr const char* kReport = "report.json";

[[noreturn]] void refuse(const std::string& source, const std::string& why) {
  throw UserError(ExitStatus::Artifact, "artifact '" + source + "': " + why);
}

std::string text_of(Bytes data) {
  return {reinterpret_cast<const char*>(data.data()), data.size()};
}

Bytes bytes_of(const AlignedBuffer& buffer) {
  return {buffer.data(), static_cast<std::size_t>(buffer.bytes())};
}

std::string constants_name(std::size_t index) {
  return index == 0 ? "constants.bin" : "constants." + std::to_string(index) + ".bin";
}

// A group's name comes from the model; as a file name it keeps harmless characters only and
// is made unique.
std::string script_name(const std::string& group, std::set<std::string>& taken) {
  std::string stem = group.substr(0, 100);
  for (char& c : stem) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '_' || c == '-';
    if (!plain) c = '_';
  }
  std::string name = stem;
  for (int i = 2; !taken.insert(name).second; ++i) name = stem + "." + std::to_string(i);
  return "scripts/" + name + ".sched";
}

struct Member {
  std::string name;
  Bytes data;
};

// Digests of the members show damage; that kernels and manifest belong together shows this
// line, which stands behind the shared object: the digest of the manifest that the kernels
// were assembled with.
constexpr std::string_view kBelongs = "\npolyte manifest ";
constexpr std::size_t kBelongsBytes = kBelongs.size() + 32;

std::string belongs_to(ArtifactManifest manifest) {
  manifest.members.clear();  // among them the kernels
  return std::string(kBelongs) + digest_of(as_bytes(manifest_to_json(manifest)));
}

std::vector<std::byte> with_line(std::vector<std::byte> kernels, const std::string& line) {
  const Bytes bytes = as_bytes(line);
  kernels.insert(kernels.end(), bytes.begin(), bytes.end());
  return kernels;
}

// The kernels without the line.
Bytes check_belong(Bytes kernels, const ArtifactManifest& manifest, const std::string& source) {
  const std::size_t bytes = kernels.size() - std::min(kernels.size(), kBelongsBytes);
  if (text_of(kernels.subspan(bytes)) != belongs_to(manifest))
    refuse(source, "manifest.json is not the one that kernels.so was assembled with");
  return kernels.first(bytes);
}

// `kernels` with its line.
std::vector<Member> list_members(const ArtifactParts& parts,
                                 const std::vector<std::byte>& kernels) {
  std::vector<Member> members;
  if (!parts.kernels.empty()) members.push_back({kKernels, kernels});
  for (std::size_t i = 0; i < parts.constants.size(); ++i) {
    members.push_back({constants_name(i), bytes_of(parts.constants[i])});
  }
  for (const DeviceCode& code : parts.device)
    members.push_back({device_member(code.module, code.architecture), code.bytes});
  std::set<std::string> taken;
  for (const auto& [group, text] : parts.scripts)
    members.push_back({script_name(group, taken), as_bytes(text)});
  if (!parts.report.empty()) members.push_back({kReport, as_bytes(parts.report)});
  return members;
}

bool equal(Bytes a, const std::vector<std::byte>& b) { return std::ranges::equal(a, b); }

// All bytes outside the members must be exactly those that the writer puts there.
// The digests of members find no damage between members, and no header that says otherwise than
// the directory.
void check_frame(FileContent& file, const std::vector<ZipEntry>& entries,
                 const std::string& source) {
  std::uint64_t at = 0;
  for (const ZipEntry& entry : entries) {
    const std::string what = "the header of member '" + entry.name + "' is damaged";
    if (entry.deflated || entry.header_at != at) refuse(source, what);
    const std::vector<std::byte> header = zip_local_header(entry);
    if (file.size() - at < header.size() || !equal(file.bytes(at, header.size()), header))
      refuse(source, what);
    if (entry.data_at != at + header.size()) refuse(source, what);
    at = entry.data_at + entry.bytes;
  }
  if (!equal(file.bytes(at, file.size() - at), zip_directory(entries, at)))
    refuse(source, "the directory is damaged");
}

// Zip's own problems, in the terms of an artifact.
UserError as_artifact(const UserError& error) {
  if (error.status() == ExitStatus::ResourceLimit) return error;
  return UserError(ExitStatus::Artifact, error.problems());
}

std::vector<ZipEntry> read_directory(FileContent& file, const std::string& source) {
  try {
    return read_zip_directory(file, source);
  } catch (const UserError& error) {
    throw as_artifact(error);
  }
}

ArtifactManifest read_manifest(FileContent& file, const std::vector<ZipEntry>& entries,
                               const std::string& source) {
  if (entries.empty() || entries.front().name != kManifest)
    refuse(source,
           "is a zip archive but no artifact: expected manifest.json as its first member, "
           "got " +
               (entries.empty() ? "none" : "'" + entries.front().name + "'"));
  if (entries.front().bytes > kMaxManifest) refuse(source, "manifest.json is larger than 256 MiB");
  std::vector<std::byte> data;
  try {
    data = read_zip_member(file, entries.front(), source);
  } catch (const UserError& error) {
    throw as_artifact(error);
  }
  return manifest_from_json(text_of(data), source);
}

void check_members(const std::vector<ZipEntry>& entries, const ArtifactManifest& manifest,
                   const std::string& source) {
  bool same = entries.size() == manifest.members.size() + 1;
  for (std::size_t i = 1; same && i < entries.size(); ++i) {
    const MemberDigest& listed = manifest.members[i - 1];
    same = entries[i].name == listed.name &&
           static_cast<std::int64_t>(entries[i].bytes) == listed.bytes;
  }
  if (!same) refuse(source, "has other members than its manifest lists");
}

// Read and digested piece by piece: each piece is still in the cache when it is digested.
std::string read_digested(FileContent& file, const ZipEntry& entry) {
  constexpr std::uint64_t kPiece = std::uint64_t{1} << 18;
  const std::unique_ptr<XXH3_state_t, decltype(&XXH3_freeState)> state(XXH3_createState(),
                                                                       XXH3_freeState);
  if (!state) throw std::bad_alloc();
  XXH3_128bits_reset(state.get());
  for (std::uint64_t at = 0; at < entry.bytes; at += kPiece) {
    const Bytes piece = file.bytes(entry.data_at + at, std::min(kPiece, entry.bytes - at));
    XXH3_128bits_update(state.get(), piece.data(), piece.size());
  }
  return text_of(XXH3_128bits_digest(state.get()));
}

std::vector<std::int64_t> sizes_of(const std::vector<Bytes>& parts) {
  std::vector<std::int64_t> sizes;
  for (const Bytes part : parts) sizes.push_back(static_cast<std::int64_t>(part.size()));
  return sizes;
}

}  // namespace

// The kernels are bound to the manifest without its members, for the members' digests include
// that of the kernels with the line.
void write_artifact(const std::string& path, const ArtifactParts& parts) {
  const std::vector<std::byte> kernels = with_line(parts.kernels, belongs_to(parts.manifest));
  const std::vector<Member> members = list_members(parts, kernels);
  ArtifactManifest manifest = parts.manifest;
  manifest.members.clear();
  for (const Member& member : members) {
    manifest.members.push_back(
        {member.name, static_cast<std::int64_t>(member.data.size()), digest_of(member.data)});
  }
  ZipWriter zip(path);
  zip.add(kManifest, as_bytes(manifest_to_json(manifest)));
  for (const Member& member : members) zip.add(member.name, member.data);
  zip.finish();
}

// A large file lies in huge pages: reading weights from small ones misses the TLB at every step
// through a panel, 1.7 times the time of a 3x3 convolution over 7x7 points.
Bytes Artifact::read_member(const ZipEntry& entry, const std::string& expected) {
  if (read_digested(*file_, entry) != expected)
    refuse(source_, "member '" + entry.name + "' is damaged (its digest differs)");
  return file_->bytes(entry.data_at, entry.bytes);
}

// By name, and in the writer's order for constants: constants.bin, constants.1.bin, ... without
// a gap.
void Artifact::take_member(const std::string& name, Bytes data) {
  if (name == kKernels) {
    kernels_ = check_belong(data, manifest_, source_);
  } else if (name == constants_name(constants_.size())) {
    constants_.push_back(data);
  } else if (name.starts_with("device/")) {
    device_.emplace(name, data);
  } else if (name.starts_with("scripts/") && name.ends_with(".sched")) {
    scripts_.emplace_back(name.substr(8, name.size() - 14), text_of(data));
  } else if (name == kReport) {
    report_ = text_of(data);
  } else {
    refuse(source_, "has an unknown member '" + name.substr(0, 100) + "'");
  }
}

// Each module for each of its architectures, and nothing else.
void Artifact::check_device_members() const {
  std::size_t listed = 0;
  for (const DeviceModule& module : manifest_.device)
    for (const std::string& architecture : module.architectures) {
      const std::string member = device_member(module.name, architecture);
      if (!device_.contains(member)) refuse(source_, "has no member '" + member + "'");
      ++listed;
    }
  if (listed != device_.size()) refuse(source_, "has device code that its manifest does not list");
}

Bytes Artifact::device_code(const std::string& module, const std::string& architecture) const {
  const auto found = device_.find(device_member(module, architecture));
  POLYTE_CHECK(found != device_.end(), "no device code " + module + " for " + architecture);
  return found->second;
}

std::shared_ptr<const Artifact> Artifact::open(const std::string& path,
                                               const std::string& signed_by) {
  auto artifact = std::make_shared<Artifact>();
  artifact->source_ = path;
  artifact->file_.emplace(path);
  FileContent& file = *artifact->file_;
  // The signature covers every byte of the file, so it is checked before anything in it is
  // parsed.
  if (!signed_by.empty()) verify_signature(file.all(), path, signed_by);
  const std::vector<ZipEntry> entries = read_directory(file, path);
  // The manifest first: it has the digests of the rest. The frame before the members, so that
  // no offset is followed that the writer would not have written.
  artifact->manifest_ = read_manifest(file, entries, path);
  check_frame(file, entries, path);
  check_members(entries, artifact->manifest_, path);
  for (std::size_t i = 1; i < entries.size(); ++i) {
    artifact->take_member(
        entries[i].name,
        artifact->read_member(entries[i], artifact->manifest_.members[i - 1].xxh3_128));
  }
  file.close();
  check_manifest(artifact->manifest_, sizes_of(artifact->constants_), path);
  artifact->check_device_members();
  return artifact;
}

// The same checks as for a file, but for digests: there is no file that could be damaged.
std::shared_ptr<const Artifact> Artifact::from_parts(ArtifactParts parts) {
  auto artifact = std::make_shared<Artifact>();
  artifact->source_ = "in memory";
  artifact->manifest_ = std::move(parts.manifest);
  artifact->owned_kernels_ = std::move(parts.kernels);
  artifact->owned_constants_ = std::move(parts.constants);
  artifact->kernels_ = artifact->owned_kernels_;
  for (const AlignedBuffer& buffer : artifact->owned_constants_)
    artifact->constants_.push_back(bytes_of(buffer));
  artifact->owned_device_ = std::move(parts.device);
  for (const DeviceCode& code : artifact->owned_device_)
    artifact->device_.emplace(device_member(code.module, code.architecture), code.bytes);
  artifact->scripts_ = std::move(parts.scripts);
  artifact->report_ = std::move(parts.report);
  check_manifest(artifact->manifest_, sizes_of(artifact->constants_), artifact->source_);
  artifact->check_device_members();
  return artifact;
}

}  // namespace polyte::runtime
