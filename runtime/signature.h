// Signatures of artifacts: Ed25519 over the BLAKE2b-512 digest of the whole file, both by
// libsodium. An artifact is native code, and its own digests find damage, not forgery; who must
// know where it comes from asks for a signature.
//
//   polyte keygen me                      me.key, the secret, and me.pub
//   polyte sign net.polyte --key me.key   net.polyte.sig, a text beside the artifact
//
//   verify_signature(bytes, "net.polyte", "me.pub")   what was verified are these bytes, not a file
//
// Key files and signatures are short texts. A file of public keys may list several, one per line;
// any of them will do.
#pragma once

#include <string>

#include "runtime/file.h"

namespace polyte::runtime {

// The first line of the file of a secret key.
inline constexpr const char* kSecretKeyHeader = "polyte secret key v1";

// Writes `stem`.key, which only its owner may read, and `stem`.pub. UserError where one is
// there already.
void make_keys(const std::string& stem);

// The text of a signature by the key of the file.
std::string sign_bytes(Bytes artifact, const std::string& secret_key_file);

inline constexpr const char* kSignatureSuffix = ".sig";

// UserError(Artifact) unless the file `path`.sig has a signature of the bytes by one of the keys
// of the file.
void verify_signature(Bytes artifact, const std::string& path, const std::string& public_keys_file);

}  // namespace polyte::runtime
