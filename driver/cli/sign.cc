// polyte keygen, polyte sign: signatures of artifacts. What they say and do not
// say: docs/security.md.
#include <iostream>
#include <memory>

#include "driver/cli/cli.h"
#include "driver/cli/model_options.h"
#include "runtime/signature.h"

namespace polyte::cli {
namespace {

struct SignOptions {
  std::string artifact, key, output;
};

int run_keygen(const std::string& stem) {
  runtime::make_keys(stem);
  std::cout << stem << ".key  secret: who has it signs in your name\n"
            << stem << ".pub  for polyte run --require-signature " << stem << ".pub\n";
  return 0;
}

// Only what would be opened is signed.
// Opening it checks that it is an artifact; the signature is of its bytes.
int run_sign(const SignOptions& options) {
  if (!is_artifact(options.artifact))
    throw UserError(ExitStatus::Artifact,
                    options.artifact + ": not an artifact: it does not begin as a zip file");
  runtime::Artifact::open(options.artifact);
  runtime::FileContent file(options.artifact);
  const std::string path =
      options.output.empty() ? options.artifact + runtime::kSignatureSuffix : options.output;
  runtime::OutputFile output(path);
  output.write(runtime::as_bytes(runtime::sign_bytes(file.all(), options.key)));
  output.finish();
  std::cout << path << "\n";
  return 0;
}

}  // namespace

void add_keygen(const Verb& app) {
  const Verb verb = app.verb("keygen", "make a pair of keys to sign artifacts with");
  auto stem = std::make_shared<std::string>();
  verb.option("name", *stem, "NAME.key and NAME.pub are written").required();
  verb.example("polyte keygen release");
  verb.calls([stem] { return run_keygen(*stem); });
}

void add_sign(const Verb& app) {
  const Verb verb = app.verb("sign", "sign an artifact");
  auto options = std::make_shared<SignOptions>();
  verb.option("artifact", options->artifact, "an artifact").required();
  verb.option("--key", options->key, "the secret key, NAME.key of polyte keygen").required();
  verb.option("-o,--output", options->output,
              "the signature; where not given, ARTIFACT.sig, where it is looked for");
  verb.example("polyte sign digits.polyte --key release.key");
  verb.calls([options] { return run_sign(*options); });
}

}  // namespace polyte::cli
