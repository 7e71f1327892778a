// Kernels in files, and kept between processes: what comes back is what was compiled, and never a
// part of it.
#include <doctest/doctest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

#include "driver/api/kernel_cache.h"
#include "tests/runtime/temp_dir.h"

using namespace polyte;
using namespace polyte::api;
namespace fs = std::filesystem;

namespace {

Program dense() {
  const Outcome<Program> program = parse_program(
      "program dense(M, N, K)\n  in    x: f32[M, K]\n  const w: f32[K, N]\n  out   y: f32[M, N]\n"
      "  y[m, n] = sum[k] x[m, k] * w[k, n]\n");
  REQUIRE(program);
  return *program;
}

const Sizes kSizes{{"M", 5}, {"N", 33}, {"K", 7}};

void check_result(const Kernel& kernel) {
  std::vector<float> x(35), w(231), y(165, -1);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 5) - 2;
  for (std::size_t i = 0; i < w.size(); ++i) w[i] = static_cast<float>(i % 7) - 3;
  REQUIRE(kernel.run({argument<float>("x", x), argument<float>("w", w), argument<float>("y", y)}));
  for (std::size_t m = 0; m < 5; ++m)
    for (std::size_t n = 0; n < 33; ++n) {
      float sum = 0;
      for (std::size_t k = 0; k < 7; ++k) sum += x[m * 7 + k] * w[k * 33 + n];
      REQUIRE(y[m * 33 + n] == sum);
    }
}

void check_same(const Kernel& a, const Kernel& b) {
  CHECK(a.script() == b.script());
  CHECK(a.directives() == b.directives());
  CHECK(a.loops() == b.loops());
  CHECK(a.notes() == b.notes());
  CHECK(a.scheduling().used == b.scheduling().used);
  REQUIRE(a.tensors().size() == b.tensors().size());
  for (std::size_t i = 0; i < a.tensors().size(); ++i) {
    CHECK(a.tensors()[i].name == b.tensors()[i].name);
    CHECK(a.tensors()[i].shape == b.tensors()[i].shape);
    CHECK(a.tensors()[i].role == b.tensors()[i].role);
  }
}

std::string content_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

fs::path only_file(const std::string& folder) {
  std::vector<fs::path> files;
  for (const fs::directory_entry& each : fs::directory_iterator(folder))
    files.push_back(each.path());
  REQUIRE(files.size() == 1);
  return files.front();
}

}  // namespace

TEST_CASE("a kernel that was saved runs, and says the same of itself") {
  const testing::TempDir folder;
  for (const Scheduler scheduler : {Scheduler::Naive, Scheduler::Poly, Scheduler::Template}) {
    const Outcome<Kernel> kernel = compile(dense(), {.scheduler = scheduler, .sizes = kSizes});
    REQUIRE(kernel);
    const std::string path = folder.file("a.kernel");
    REQUIRE(kernel->save(path));
    const Outcome<Kernel> loaded = Kernel::load(path);
    REQUIRE_MESSAGE(static_cast<bool>(loaded), (loaded ? "" : loaded.error().messages.front()));
    check_same(*kernel, *loaded);
    check_result(*loaded);
    REQUIRE(loaded->save(folder.file("b.kernel")));
    CHECK(content_of(path) == content_of(folder.file("b.kernel")));
  }
}

TEST_CASE("a damaged file is refused, wherever the damage is") {
  const testing::TempDir folder;
  const Outcome<Kernel> kernel = compile(dense(), {.sizes = kSizes});
  REQUIRE(kernel);
  const std::string path = folder.file("a.kernel");
  REQUIRE(kernel->save(path));
  const std::string whole = content_of(path);
  std::mt19937 random(7);
  int refused = 0, changed = 0;
  for (int run = 0; run < 300; ++run) {
    std::string text = whole;
    if (run % 3 == 0)
      text.resize(random() % text.size());
    else
      text[random() % text.size()] ^= static_cast<char>(1 + random() % 255);
    std::ofstream(path, std::ios::binary) << text;
    const Outcome<Kernel> loaded = Kernel::load(path);
    ++changed;
    if (!loaded) {
      ++refused;
      CHECK(loaded.error().status != ExitStatus::Internal);
    } else {
      check_result(*loaded);  // what a reader of zip files need not look at: dates, padding
    }
  }
  CHECK(refused > changed / 2);
  CHECK(!Kernel::load(folder.file("nothing.kernel")));
}

TEST_CASE("the second process finds what the first one compiled") {
  const testing::TempDir folder;
  const CompileOptions options{.sizes = kSizes, .cache = folder.file("cache")};
  const Outcome<Kernel> first = compile(dense(), options);
  REQUIRE(first);
  CHECK(fs::status(options.cache).permissions() == fs::perms::owner_all);
  const fs::path file = only_file(options.cache);
  const auto written = content_of(file);
  const Outcome<Kernel> second = compile(dense(), options);
  REQUIRE(second);
  check_same(*first, *second);
  check_result(*second);
  CHECK(content_of(only_file(options.cache)) == written);

  std::ofstream(file, std::ios::binary) << written.substr(0, written.size() / 2);
  const Outcome<Kernel> third = compile(dense(), options);  // compiled anew
  REQUIRE(third);
  check_result(*third);
  CHECK(content_of(only_file(options.cache)) == written);
}

TEST_CASE("what decides a kernel is in its key") {
  std::set<std::string> keys;
  const std::string base = key_of(dense(), {.sizes = kSizes});
  REQUIRE(!base.empty());
  keys.insert(base);
  CHECK(key_of(dense(), {.sizes = kSizes}) == base);
  const Outcome<Program> other = parse_notation("y[m, n] = sum[k] x[m, k] * w[k, n]", DType::F32);
  const std::vector<std::string> others = {
      key_of(*other, {.sizes = kSizes}),
      key_of(dense(), {.sizes = {{"M", 5}, {"N", 33}, {"K", 8}}}),
      key_of(dense(), {.scheduler = Scheduler::Template, .sizes = kSizes}),
      key_of(dense(), {.script = "schedule a/1 for dense\n", .sizes = kSizes}),
      key_of(dense(), {.params = {{"Mr", "4"}}, .sizes = kSizes}),
      key_of(dense(), {.sizes = kSizes, .target = "cpu:skylake"}),
      key_of(dense(), {.sizes = kSizes, .threads = 3}),
      key_of(dense(), {.sizes = kSizes, .strict = true}),
      key_of(dense(), {.sizes = kSizes, .exact = true}),
      key_of(dense(), {.sizes = kSizes, .second_judge = false})};
  for (const std::string& key : others) CHECK(keys.insert(key).second);
  CHECK(key_of(dense(), {.sizes = kSizes, .target = "cpu:native"}) == base);
  CHECK(key_of(dense(), {.sizes = kSizes, .target = "cuda:h100"}).empty());
  CHECK(key_of(dense(), {.templates = "mine", .sizes = kSizes}).empty());
}

TEST_CASE("what was not used for longest goes first") {
  const testing::TempDir folder;
  const Outcome<Kernel> kernel = compile(dense(), {.sizes = kSizes, .cache = folder.file("one")});
  REQUIRE(kernel);
  const auto bytes = static_cast<std::int64_t>(fs::file_size(only_file(folder.file("one"))));
  const KernelCache cache(folder.file("cache"), 4 * bytes + bytes / 2);
  const StoredKernel stored = read_kernel(only_file(folder.file("one")), "");
  using Time = fs::file_time_type;
  for (int i = 0; i < 4; ++i) {
    const std::string key = "k" + std::to_string(i);
    cache.keep(key, stored.op, stored.texts);
    fs::last_write_time(folder.file("cache/" + key + ".kernel"),
                        Time::clock::now() - std::chrono::hours(9 - i));
  }
  CHECK(cache.contents().kernels == 4);
  REQUIRE(cache.find("k0"));  // used just now
  cache.keep("k4", stored.op, stored.texts);
  CHECK(cache.find("k0"));
  CHECK(!cache.find("k1"));
  CHECK(!cache.find("k2"));
  CHECK(cache.find("k3"));
  CHECK(cache.find("k4"));
  CHECK(!cache.find(""));
  CHECK(cache.clear().kernels == 3);
  CHECK(cache.contents().kernels == 0);
}

TEST_CASE("a cache that cannot be written is said, and the kernel is there") {
  const testing::TempDir folder;
  std::ofstream(folder.file("file")) << "no folder";
  const Outcome<Kernel> kernel =
      compile(dense(), {.sizes = kSizes, .cache = folder.file("file") + "/below"});
  REQUIRE(kernel);
  check_result(*kernel);
  REQUIRE(!kernel->notes().empty());
  CHECK(kernel->notes().back().find("not kept in the cache") == 0);
}

// A service may have no home.
TEST_CASE("where no folder can be named the kernel is there all the same, and that is said") {
  std::map<std::string, std::string> before;
  for (const char* name : {"POLYTE_CACHE", "XDG_CACHE_HOME", "HOME"}) {
    if (const char* value = getenv(name)) before[name] = value;
    unsetenv(name);
  }
  const Outcome<Kernel> kernel = compile(dense(), {.sizes = kSizes, .cache = kDefaultCache});
  setenv("POLYTE_CACHE", "off", 1);
  const Outcome<Kernel> without = compile(dense(), {.sizes = kSizes, .cache = kDefaultCache});
  unsetenv("POLYTE_CACHE");
  for (const auto& [name, value] : before) setenv(name.c_str(), value.c_str(), 1);
  REQUIRE(kernel);
  check_result(*kernel);
  REQUIRE(kernel->notes().size() == 1);
  CHECK(kernel->notes().front().find("not kept in the cache: no folder for the cache") == 0);
  REQUIRE(without);
  CHECK(without->notes().empty());
}

// Sixteen at once, killed at any time: whoever looks finds a whole kernel or none.
TEST_CASE("many processes write, and are killed meanwhile") {
  const testing::TempDir folder;
  const Outcome<Kernel> kernel = compile(dense(), {.sizes = kSizes, .cache = folder.file("one")});
  REQUIRE(kernel);
  const StoredKernel stored = read_kernel(only_file(folder.file("one")), "");
  const KernelCache cache(folder.file("cache"), 1 << 20);
  std::vector<pid_t> children;
  for (int i = 0; i < 16; ++i) {
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      for (int turn = 0;; ++turn)
        cache.keep("k" + std::to_string(turn % 3), stored.op, stored.texts);
    }
    children.push_back(child);
  }
  int found = 0;
  for (std::size_t killed = 0; killed < children.size(); ++killed) {
    for (int look = 0; look < 20; ++look)
      for (const char* key : {"k0", "k1", "k2"}) {
        const std::string path = folder.file("cache/") + key + ".kernel";
        if (!fs::exists(path)) continue;
        CHECK_NOTHROW(read_kernel(path, key));
        ++found;
      }
    kill(children[killed], SIGKILL);
  }
  for (const pid_t child : children) waitpid(child, nullptr, 0);
  CHECK(found > 0);
  for (const fs::directory_entry& each : fs::directory_iterator(folder.file("cache")))
    if (each.path().extension() == ".kernel")
      CHECK_NOTHROW(read_kernel(each.path(), each.path().stem()));
}
