# Shell helpers shared by the scripts of this folder; sourced, never run.
# Sets ROOT and goes there: every script works from any directory.
ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
cd "$ROOT"

say() { printf '== %s\n' "$*"; }
die() { printf 'error: %s\n' "$*" >&2; exit 1; }

# Build jobs: one per core, but at least 1.5 GB of memory each.
build_jobs() {
  local cores memory_kb jobs
  cores=$(nproc)
  memory_kb=$(awk '/^MemTotal:/ {print $2}' /proc/meminfo 2>/dev/null || true)
  jobs=$(( ${memory_kb:-8000000} / 1500000 ))
  (( jobs < 1 )) && jobs=1
  (( jobs > cores )) && jobs=$cores
  echo "$jobs"
}

# Packages of tools/packages.txt for the given purposes (build, test, full).
packages_for() {
  local purposes=" $* "
  while read -r purpose package _; do
    [[ -n $purpose && $purpose != \#* && $purposes == *" $purpose "* ]] && echo "$package"
  done < tools/packages.txt
  return 0
}

# Those of the arguments that are not installed. dpkg-query fails where one is unknown.
missing_packages() {
  local installed
  installed=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' "$@" 2>/dev/null |
              awk '$1 == "installed" {print $2}' | sort -u) || true
  comm -23 <(printf '%s\n' "$@" | sort -u) <(printf '%s\n' "$installed")
}

# The one whose headers python3-dev has, where another one comes first in the path.
system_python=python3
[[ -x /usr/bin/python3 ]] && system_python=/usr/bin/python3

# Packages of the Python index into an environment build/NAME of their own, where `python3 -c
# IMPORT` does not find them. Fails, and says what is missing then, where they cannot be had.
provide_from_index() {
  local name=$1 import=$2 without=$3 log=build/$1.log
  shift 3
  if "build/$name/bin/python" -c "$import" 2>/dev/null; then return; fi
  mkdir -p build
  say "$* into build/$name"
  if "$system_python" -m venv --without-pip "build/$name" >"$log" 2>&1 &&
     python3 -m pip --python "build/$name/bin/python" install --quiet --timeout 10 --retries 1 \
       "$@" >>"$log" 2>&1; then
    return
  fi
  say "that failed ($log): $without"
  return 1
}

# Runs a build and prints a line per tenth of it; all of its output is in the file LOG, its end is
# shown where it fails.
build_quietly() {
  local log=$1 status=0
  shift
  "$@" </dev/null 2>&1 | tee "$log" | awk '
    match($0, /^\[[0-9]+\/[0-9]+\]/) {
      split(substr($0, 2, RLENGTH - 2), step, "/")
      tenth = int(10 * step[1] / step[2])
      if (tenth == last && step[1] > 1) next
      last = tenth
      print "   " step[1] " of " step[2] " steps"
      fflush()
    }' || status=1  # pipefail: the build's own
  (( status == 0 )) || tail -n 40 "$log"
  return "$status"
}

# Configures a preset where that has not been done, and builds it: its targets, or those named.
build_preset() {
  local preset=$1
  shift
  mkdir -p "build/$preset"
  if [[ ! -f build/$preset/build.ninja ]]; then
    say "configuring preset $preset (all of its output: build/$preset/configure.log)"
    cmake --preset "$preset" </dev/null >"build/$preset/configure.log" 2>&1 ||
      { tail -n 40 "build/$preset/configure.log"; return 1; }
  fi
  say "building ${*:-everything} by preset $preset with $(build_jobs) jobs" \
      "(all output: build/$preset/build.log)"
  build_quietly "build/$preset/build.log" \
    cmake --build --preset "$preset" -j "$(build_jobs)" ${1:+--target "$@"}
}
