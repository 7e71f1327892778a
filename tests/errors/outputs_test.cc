// What becomes of results: a stream that cannot be written, a result over its own input, inputs
// that nobody gave.
#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace {

namespace fs = std::filesystem;

// A folder with a model, a Program and an artifact; `run` is a shell command in it, `polyte`
// the binary.
class Folder {
 public:
  Folder() {
    std::string name = (fs::temp_directory_path() / "polyte_outputs_XXXXXX").string();
    REQUIRE(mkdtemp(name.data()) != nullptr);
    path_ = name;
    fs::copy_file("examples/digits/digits.onnx", path_ / "digits.onnx");
    std::ofstream(path_ / "p.program")
        << "program p(N)\n  in A: f32[N]\n  out C: f32[N]\n  C[i] = A[i] * 2\n";
    std::ofstream(path_ / "p.sched") << "schedule p/1 for p\nparallel i\n";
  }
  ~Folder() { fs::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  int run(const std::string& command) {
    const std::string all = "cd '" + path_.string() +
                            "' && polyte() { '" POLYTE_BINARY "' \"$@\"; }; { " + command +
                            "; } 2>stderr.txt </dev/null";
    const int status = std::system(all.c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  std::string read(const std::string& name) const {
    std::ostringstream text;
    text << std::ifstream(path_ / name, std::ios::binary).rdbuf();
    return text.str();
  }
  const fs::path& path() const { return path_; }
  std::string words() const { return read("stderr.txt"); }

 private:
  fs::path path_;
};

}  // namespace

TEST_CASE("results that stdout does not take are an error of every verb") {
  Folder folder;
  REQUIRE(folder.run("polyte op p.program --shape N=8 --artifact p.polyte") == 0);
  for (const char* command :
       {"--help", "--version", "compile digits.onnx --emit groups",
        "op p.program --shape N=8 --emit script",
        "op p.program --shape N=8 --bench --repetitions 1 --json",
        "run p.polyte --fill ones --print-top 1", "bench p.polyte --repetitions 1",
        "inspect digits.onnx --coverage", "inspect p.polyte", "check p.program --script p.sched",
        "interpret p.program --shape N=2 --watch 'C[0]'",
        "compare p.program --shape N=8 --repetitions 1", "fuzz schedule --runs 1 --seed 1", "ops",
        "options", "doctor --json", "opt --list", "opt digits.onnx"}) {
    CAPTURE(command);
    CHECK(folder.run("polyte " + std::string(command) + " >/dev/full") == 5);
    CHECK(folder.words().ends_with(
        "stdout: the results cannot be written (a full disk, or a closed stream)\n"));
  }
  CHECK(folder.run("polyte options >&-") == 5);
  CHECK(folder.words() ==
        "stdout: the results cannot be written (a full disk, or a closed stream)\n");
}

TEST_CASE("a closed stream is not the next file that is opened") {
  Folder folder;
  REQUIRE(folder.run("polyte op p.program --shape N=8 --artifact good.polyte") == 0);
  CHECK(folder.run("polyte op p.program --shape N=8 --artifact a.polyte --explain >&-") == 5);
  CHECK(folder.run("polyte op p.program --shape N=8 --artifact b.polyte 2>&-") == 0);
  CHECK(folder.run("cmp good.polyte a.polyte && cmp good.polyte b.polyte") == 0);
}

TEST_CASE("no result is written over what is read, by whatever name") {
  Folder folder;
  REQUIRE(
      folder.run(
          "ln digits.onnx hard.onnx && ln -s digits.onnx soft.onnx && ln -s p.sched soft.sched") ==
      0);
  const std::string model = folder.read("digits.onnx"), schedule = folder.read("p.sched");
  for (const char* name : {"digits.onnx", "./digits.onnx", "hard.onnx", "soft.onnx"}) {
    CAPTURE(name);
    CHECK(folder.run("polyte compile digits.onnx -o " + std::string(name)) == 2);
    CHECK(folder.words().find("read by this command, expected another file") != std::string::npos);
    CHECK(folder.run("polyte run digits.onnx --fill ones -o " + std::string(name)) == 2);
    CHECK(folder.run("polyte run digits.onnx --fill ones --profile --trace " + std::string(name)) ==
          2);
    CHECK(folder.run("polyte interpret digits.onnx --fill ones -o " + std::string(name)) == 2);
  }
  CHECK(folder.run("polyte compile digits.onnx --script p.sched -o soft.sched") == 2);
  CHECK(folder.words() ==
        "-o soft.sched: is the same file as 'p.sched', read by this command, expected another "
        "file\n");
  CHECK(folder.read("digits.onnx") == model);
  CHECK(folder.read("p.sched") == schedule);
  REQUIRE(folder.run("polyte op p.program --shape N=8 --fill ones -o in.npz") == 0);
  const std::string inputs = folder.read("in.npz");
  CHECK(folder.run("polyte run digits.onnx -i in.npz -o in.npz") == 2);
  CHECK(folder.read("in.npz") == inputs);
}

TEST_CASE("an output that cannot be is said before the work") {
  Folder folder;
  CHECK(folder.run("polyte compile digits.onnx -o nowhere/x.polyte --time-passes") == 3);
  CHECK(folder.words() ==
        "-o nowhere/x.polyte: cannot be written: folder 'nowhere': No such file or directory\n");
  CHECK(folder.run("polyte run digits.onnx --fill ones -o .") == 3);
  CHECK(folder.words() == "-o .: cannot be written: is a folder, expected a file\n");
}

TEST_CASE("what nobody gave is not made up, and what was done is said") {
  Folder folder;
  CHECK(folder.run("polyte run digits.onnx") == 2);
  const std::string missing =
      "input 'image' has no value: give -i image=@x.npy or -i in.npz, or --fill normal "
      "(zeros, ones, int:SEED)\n";
  CHECK(folder.words() == missing);
  CHECK(folder.run("polyte interpret digits.onnx") == 2);
  CHECK(folder.words() == missing);
  REQUIRE(folder.run("polyte compile digits.onnx -o d.polyte") == 0);
  CHECK(folder.run("polyte run d.polyte --expect nothing.npz") == 3);
  CHECK(folder.words() == "--expect nothing.npz: there is no such file\n");
  CHECK(folder.run("polyte run d.polyte --fill int:1 --threads 1 >out.txt") == 0);
  CHECK(folder.read("out.txt").empty());
  const std::string words = folder.words();
  CHECK(words.starts_with("d.polyte: loaded in "));
  CHECK(words.find(" by 1 thread\n  probabilities  f32[1, 10]  min ") != std::string::npos);
  CHECK(folder.run("polyte op p.program --shape N=4 --fill ones") == 0);
  CHECK(folder.words().find("\n  C  f32[4]  min 2  max 2  xxh3 ") != std::string::npos);
  CHECK(folder.run("polyte interpret p.program --shape N=4 --fill ones") == 0);
  CHECK(folder.words().starts_with("p (reference order): interpreted in "));
}

TEST_CASE("compare prints lines of 80 characters however many are compared") {
  Folder folder;
  std::string schedulers = "naive";
  for (int i = 1; i < 35; ++i) schedulers += ",naive";
  REQUIRE(folder.run("polyte compare p.program --shape N=8 --repetitions 1 --schedulers " +
                     schedulers + " >out.txt") == 0);
  // Three abreast in 80 characters, the 35 contenders in twelve groups.
  const std::string text = folder.read("out.txt"), name = "p naive" + std::string(16, ' ');
  const std::string heads = std::string(13, ' ') + name + name + "p naive\n";
  std::size_t groups = 0;
  for (std::size_t at = text.find(heads); at != std::string::npos; at = text.find(heads, at + 1))
    ++groups;
  CHECK(groups == 11);
  CHECK(text.find(std::string(13, ' ') + name + "p naive\n", text.rfind(heads) + 1) !=
        std::string::npos);
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    CAPTURE(line);
    CHECK(line.size() <= 80);
  }
}

TEST_CASE("compare --predicted has the model's figures beside the times, and judges its order") {
  Folder folder;
  const std::string command =
      "polyte compare 'z[i] = sum[j] A[i, j] * x[j]' --shape i=64,j=64 "
      "--repetitions 3 --schedulers naive,isl,poly --predicted ";
  REQUIRE(folder.run(command + ">out.txt") == 0);
  const std::string text = folder.read("out.txt");
  CAPTURE(text);
  CHECK(text.find("predicted: ") != std::string::npos);
  CHECK(text.find("\nmodel        measured: ") != std::string::npos);
  CHECK(text.find(" operations;") != std::string::npos);
  CHECK(text.find("from beyond L1 ") != std::string::npos);
  CHECK(text.find("\nmodel: ") != std::string::npos);  // " of .. pairs as measured"
  REQUIRE(folder.run(command + "--json >out.txt") == 0);
  const auto rows = nlohmann::json::parse(folder.read("out.txt"))["benchmarks"];
  REQUIRE(rows.size() == 3);
  for (const auto& row : rows) {
    const auto& predicted = row["predicted"];
    CHECK(predicted["cycles"].get<double>() > 0);
    double all = 0;
    for (const auto& statement : predicted["statements"]) all += statement["cycles"].get<double>();
    CHECK(all == doctest::Approx(predicted["cycles"].get<double>()));
  }
  // 64 * 64 products and sums.
  CHECK(rows[0]["predicted"]["flops"] == 2.0 * 64 * 64);
}

TEST_CASE("one refused script leaves the others their comparison") {
  Folder folder;
  REQUIRE(folder.run("printf 'schedule bad/1 for p\\nparallel q\\n' > bad.sched") == 0);
  CHECK(folder.run("polyte compare p.program --shape N=8 --repetitions 1 --schedulers naive "
                   "--script bad.sched --script "
                   "p.sched >out.txt") == 1);
  CHECK(folder.words().starts_with("bad.sched:2: "));
  CHECK(folder.read("out.txt").find("p p.sched") != std::string::npos);
  CHECK(folder.run(
            "polyte bench p.program --shape N=8 --repetitions 1 --script bad.sched >out.txt") == 1);
  CHECK(folder.read("out.txt").find(" us  (") != std::string::npos);
}

TEST_CASE(
    "options lists every switch of every verb; a script may be a pipe; types have NumPy's names "
    "too") {
  Folder folder;
  REQUIRE(folder.run("polyte options >options.txt") == 0);
  const std::string all = folder.read("options.txt");
  for (const char* words :
       {"\nrun\n", "--print-top", "--no-proof", "--emit-dir", "--by-execution", "\nfuzz\n"})
    CHECK(all.find(words) != std::string::npos);
  CHECK(folder.run(
            "cat p.sched | polyte op p.program --shape N=8 --fill ones --script /dev/stdin") == 0);
  CHECK(folder.run("polyte op 'y[i] = x[i]' --shape i=2 --fill ones --dtype float32") == 0);
  CHECK(folder.words().find("  y  f32[2]  min 1  max 1") != std::string::npos);
}

TEST_CASE("an archive's member of the wrong type is refused before it is unpacked") {
  Folder folder;
  std::ofstream(folder.path() / "make.py") << R"(import zipfile
header = b"{'descr': '|u1', 'fortran_order': False, 'shape': (629145600,), }".ljust(117) + b"\n"
archive = zipfile.ZipFile("in.npz", "w", zipfile.ZIP_DEFLATED)
with archive, archive.open("A.npy", "w") as member:
    member.write(b"\x93NUMPY\x01\x00" + bytes([len(header), 0]) + header)
    for _ in range(600):
        member.write(bytes(1 << 20))
)";
  REQUIRE(folder.run("python3 make.py") == 0);
#if defined(POLYTE_ADDRESS_SANITIZER) || defined(__SANITIZE_THREAD__)  // whose shadow takes more
  constexpr const char* kLimit = "";
#else
  constexpr const char* kLimit = "ulimit -v 400000; ";
#endif
  CHECK(folder.run(std::string(kLimit) + "polyte interpret p.program --shape N=4 -i in.npz") == 3);
  CHECK(folder.words() ==
        "input 'A' is u8[629145600], expected f32[4]; in NumPy, A.astype('float32')\n");
}

TEST_CASE("compare shows a GPU's kernels where no GPU is, and says that nothing was measured") {
  Folder folder;
  const std::string compare = "polyte compare p.program --shape N=64 --target cuda:h100 --json";
  REQUIRE(folder.run(compare + " >nothing.json") == 0);
  REQUIRE(folder.run(compare + " --emulate --order adverse >emulated.json") == 0);
  CHECK(folder.run(compare + " --order adverse") == 2);
  const std::string nothing = folder.read("nothing.json"), emulated = folder.read("emulated.json");
  for (const std::string& text : {nothing, emulated}) {
    for (const char* key :
         {"\"not_measured\"", "\"barriers\": 0", "\"spill_store_bytes\"", "\"predicted\"",
          "\"blocks\"", "\"machine_code\"", "\"flops\"", "\"bytes\": 512.0", "\"predicted_least\"",
          "\"predicted_time\"", "\"bound\": \"launch\"", "\"bound\": \"memory\"",
          "\"nanoseconds\": 0.152"})
      CHECK_MESSAGE(text.find(key) != std::string::npos, key);
    for (const char* key : {"\"real_time\"", "peak_fraction", "ceiling_fraction"})
      CHECK_MESSAGE(text.find(key) == std::string::npos, key);
  }
  CHECK(nothing.find("\"emulated\": null") != std::string::npos);
  CHECK(nothing.find("\"outputs\": \"not run\"") != std::string::npos);
  CHECK(emulated.find("\"requests\": 2") != std::string::npos);
  CHECK(emulated.find("\"outputs\": \"same bits as p poly\"") != std::string::npos);
  REQUIRE(folder.run("polyte compare digits.onnx --target cuda:h100 >network.txt") == 0);
  CHECK(folder.read("network.txt").find("launches") != std::string::npos);
  CHECK(folder.run("polyte compare p.program --shape N=64 --target cuda:h100 --driver ./none.so") ==
        6);
}

TEST_CASE("an input that no model has is named, with the one that was meant") {
  Folder folder;
  REQUIRE(folder.run("polyte op 'x[i] = y[i]' --shape i=4 --fill ones -o x.npy") == 0);
  CHECK(folder.run("polyte run digits.onnx -i imge=@x.npy") == 3);
  CHECK(folder.words() ==
        "input 'imge': there is no such input (there is image), did you mean 'image'?\n");
  CHECK(folder.run("polyte run digits.onnx --shape img=1x1x28x28 --fill ones") == 3);
  CHECK(folder.words() ==
        "digits.onnx: --shape names 'img', which is no input, did you mean 'image'?\n");
}

TEST_CASE("an open size that an artifact has not is named, with the one that was meant") {
  Folder folder;
  const std::string model = fs::absolute("examples/digits/digits_batch.onnx").string();
  REQUIRE(folder.run("polyte compile '" + model + "' --shape batch=1..8..64 -o b.polyte") == 0);
  CHECK(folder.run("polyte run b.polyte --shape btch=2 --fill ones") == 2);
  CHECK(
      folder.words().starts_with("--shape btch=2: the artifact has no open size and no input "
                                 "'btch' (there are batch, image), did you mean 'batch'?\n"));
  CHECK(folder.run("polyte compile '" + model + "' --shape btch=1..64 -o c.polyte") == 2);
  CHECK(folder.words() ==
        "--shape btch is a range, but no open symbol has this name (open are "
        "batch), did you mean 'batch'?\n");
}

TEST_CASE("a single output is an .npy file where it is called so") {
  Folder folder;
  const std::string op = "polyte op p.program --shape N=4 --fill ones ";
  REQUIRE(folder.run(op + "-o y.npy") == 0);
  CHECK(folder.read("y.npy").starts_with("\x93NUMPY"));
  CHECK(folder.run(op + "--expect y.npy") == 0);
  REQUIRE(folder.run(op + "-o y.npz") == 0);
  CHECK(folder.read("y.npz").starts_with("PK"));
  CHECK(folder.run(op + "--expect y.npz") == 0);
  REQUIRE(folder.run("polyte op 'Z[i] = A[i]' --shape i=4 --fill ones -o z.npz") == 0);
  CHECK(folder.run(op + "--expect z.npz") == 3);
  // Nothing was compiled: it would have been told.
  CHECK(folder.words() == "--expect z.npz: 'Z' is not an output (there is C)\n");
}

TEST_CASE("equal loops are compared without a ratio, in as many digits as a short time needs") {
  Folder folder;
  REQUIRE(folder.run("polyte compare p.program --shape N=8 --repetitions 3 --schedulers "
                     "poly,template >out.txt") == 0);
  const std::string text = folder.read("out.txt");
  CHECK(text.find("the loops of poly") != std::string::npos);
  CHECK(text.find("the time of the first") == std::string::npos);
  CHECK(text.find(" 0.0 us") == std::string::npos);
}
