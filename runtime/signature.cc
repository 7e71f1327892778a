#include "runtime/signature.h"

#include <fcntl.h>
#include <sodium.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <vector>

#include "support/system_error.h"

namespace polyte::runtime {
namespace {

constexpr const char* kPublicHeader = "polyte public key v1";
constexpr const char* kSignatureHeader = "polyte signature v1";
// Stands in front of the digest in what is signed, so that a signature of ours cannot be taken
// for that of something else by the same key.
constexpr std::string_view kContext = "polyte artifact v1\n";

using PublicKey = std::array<unsigned char, crypto_sign_PUBLICKEYBYTES>;
using Signature = std::array<unsigned char, crypto_sign_BYTES>;

// Overwritten when it is destroyed; it cannot be copied, so no second copy stays behind.
struct SecretKey {
  std::array<unsigned char, crypto_sign_SECRETKEYBYTES> bytes{};
  SecretKey() = default;
  SecretKey(const SecretKey&) = delete;
  SecretKey& operator=(const SecretKey&) = delete;
  ~SecretKey() { sodium_memzero(bytes.data(), bytes.size()); }
};

[[noreturn]] void refuse_file(const std::string& path, const std::string& why) {
  throw UserError(ExitStatus::InvalidInput, "file '" + path + "': " + why);
}

// Safe to call again, and from several threads.
void prepare() {
  if (sodium_init() < 0)
    throw UserError(ExitStatus::ResourceLimit, "libsodium finds no source of random numbers");
}

template <std::size_t N>
std::string to_hex(const std::array<unsigned char, N>& bytes) {
  // sodium_bin2hex writes a terminating zero.
  std::string text(2 * N + 1, '\0');
  sodium_bin2hex(text.data(), text.size(), bytes.data(), N);
  text.pop_back();
  return text;
}

template <std::size_t N>
bool from_hex(std::string_view text, std::array<unsigned char, N>& bytes) {
  std::size_t count = 0;
  return text.size() == 2 * N &&
         sodium_hex2bin(bytes.data(), N, text.data(), text.size(), nullptr, &count, nullptr) == 0 &&
         count == N;
}

// A small text file. It may be of a secret key: lines are parts of the one copy in memory, which
// is overwritten when this is destroyed.
class TextFile {
 public:
  explicit TextFile(const std::string& path) : file_(path) {
    constexpr std::uint64_t kMost = 1 << 16;
    if (file_.size() > kMost) refuse_file(path, "is too large for keys or a signature");
    bytes_ = file_.all();
  }
  ~TextFile() { sodium_memzero(const_cast<std::byte*>(bytes_.data()), bytes_.size()); }
  TextFile(const TextFile&) = delete;
  TextFile& operator=(const TextFile&) = delete;

  // Those behind the header, without empty ones.
  std::vector<std::string_view> lines(std::string_view header) const {
    std::string_view rest(reinterpret_cast<const char*>(bytes_.data()), bytes_.size());
    std::vector<std::string_view> found;
    while (!rest.empty()) {
      found.push_back(rest.substr(0, rest.find('\n')));
      rest.remove_prefix(std::min(found.back().size() + 1, rest.size()));
    }
    if (found.empty() || found.front() != header)
      refuse_file(file_.path(), "does not begin with '" + std::string(header) + "'");
    found.erase(found.begin());
    std::erase(found, std::string_view());
    return found;
  }

 private:
  FileContent file_;
  Bytes bytes_;
};

// Signed is the context and a digest, not the file itself: Ed25519 signs in two passes over its
// message, which here is 83 bytes.
std::vector<unsigned char> message_of(Bytes artifact) {
  std::vector<unsigned char> message(kContext.begin(), kContext.end());
  message.resize(kContext.size() + crypto_generichash_BYTES_MAX);
  crypto_generichash(message.data() + kContext.size(), crypto_generichash_BYTES_MAX,
                     reinterpret_cast<const unsigned char*>(artifact.data()), artifact.size(),
                     nullptr, 0);
  return message;
}

// Creates a file that must not exist, with its mode from the start: with a chmod afterwards a
// secret key would be readable by others for a moment.
void write_new(const std::string& path, const std::string& text, mode_t mode) {
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
  const int error = errno;
  if (file < 0)
    throw UserError(status_of_errno(error, ExitStatus::InvalidInput),
                    "file '" + path + "': " + text_of_errno(error));
  const bool is_whole = write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  if (close(file) == 0 && is_whole) return;
  unlink(path.c_str());
  throw UserError(ExitStatus::ResourceLimit, "file '" + path + "': cannot be written");
}

void read_secret_key(const std::string& path, SecretKey& key) {
  const TextFile file(path);
  const std::vector<std::string_view> lines = file.lines(kSecretKeyHeader);
  if (lines.size() != 1 || !from_hex(lines[0], key.bytes)) refuse_file(path, "is no secret key");
}

struct NamedSignature {
  PublicKey key{};
  Signature signature{};
};

NamedSignature read_signature(const std::string& path) {
  const TextFile file(path);
  const std::vector<std::string_view> lines = file.lines(kSignatureHeader);
  NamedSignature read;
  if (lines.size() != 2 || !from_hex(lines[0], read.key) || !from_hex(lines[1], read.signature))
    refuse_file(path, "is no signature");
  return read;
}

// Every line is parsed although one match is enough: a damaged file of keys is reported
// whichever key is asked for.
bool lists_key(const std::string& path, const PublicKey& key) {
  bool found = false;
  const TextFile file(path);
  for (const std::string_view line : file.lines(kPublicHeader)) {
    PublicKey listed{};
    if (!from_hex(line, listed))
      refuse_file(path,
                  "has the line '" + std::string(line.substr(0, 80)) + "', which is no public key");
    found = found || listed == key;
  }
  return found;
}

}  // namespace

void make_keys(const std::string& stem) {
  prepare();
  PublicKey open{};
  SecretKey secret;
  crypto_sign_keypair(open.data(), secret.bytes.data());
  // The text is a second copy of the secret, in a place that is overwritten: it must not grow any
  // more when it holds it.
  std::string text = std::string(kSecretKeyHeader) + "\n";
  const std::size_t at = text.size();
  text.resize(at + 2 * secret.bytes.size() + 1);
  sodium_bin2hex(text.data() + at, text.size() - at, secret.bytes.data(), secret.bytes.size());
  text.back() = '\n';  // in place of the terminating zero
  write_new(stem + ".key", text, 0600);
  sodium_memzero(text.data(), text.size());
  try {
    write_new(stem + ".pub", std::string(kPublicHeader) + "\n" + to_hex(open) + "\n", 0666);
  } catch (...) {
    // A secret key without its public one is of no use, and would be in the way of the next
    // attempt.
    unlink((stem + ".key").c_str());
    throw;
  }
}

std::string sign_bytes(Bytes artifact, const std::string& secret_key_file) {
  prepare();
  SecretKey secret;
  read_secret_key(secret_key_file, secret);
  const std::vector<unsigned char> message = message_of(artifact);
  Signature signature{};
  PublicKey open{};
  crypto_sign_detached(signature.data(), nullptr, message.data(), message.size(),
                       secret.bytes.data());
  // libsodium's secret key contains the public one; the signature names it, so that a verifier
  // can report a key that it does not trust apart from a signature that is wrong.
  crypto_sign_ed25519_sk_to_pk(open.data(), secret.bytes.data());
  return std::string(kSignatureHeader) + "\n" + to_hex(open) + "\n" + to_hex(signature) + "\n";
}

void verify_signature(Bytes artifact, const std::string& path,
                      const std::string& public_keys_file) {
  prepare();
  const auto refuse = [&](const std::string& why) {
    throw UserError(ExitStatus::Artifact, "artifact '" + path + "': " + why);
  };
  const std::string file = path + kSignatureSuffix;
  // "Not signed" is reported apart from a signature file that cannot be read.
  if (access(file.c_str(), F_OK) != 0) refuse("is not signed: there is no '" + file + "'");
  const NamedSignature given = read_signature(file);
  // That the key is trusted is checked before the signature: the key in the .sig file comes
  // from whoever wrote that file.
  if (!lists_key(public_keys_file, given.key))
    refuse("is signed by the key " + to_hex(given.key) + ", which '" + public_keys_file +
           "' does not list");
  const std::vector<unsigned char> message = message_of(artifact);
  if (crypto_sign_verify_detached(given.signature.data(), message.data(), message.size(),
                                  given.key.data()) != 0)
    refuse("is not what was signed in '" + file + "'");
}

}  // namespace polyte::runtime
