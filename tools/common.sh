# Shell helpers shared by the scripts of this folder; sourced, never run.
# Sets ROOT and goes there: every script works from any directory.
ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
cd "$ROOT"

say() { printf '== %s\n' "$*"; }
die() { printf 'error: %s\n' "$*" >&2; exit 1; }

# Build jobs: one a core, but at least 1.5 GB of memory each.
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

# Those of the arguments that are not installed.
missing_packages() {
  local installed
  installed=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' "$@" 2>/dev/null |
              awk '$1 == "installed" {print $2}' | sort -u) || true  # dpkg-query fails where one is unknown
  comm -23 <(printf '%s\n' "$@" | sort -u) <(printf '%s\n' "$installed")
}

# Configures a preset where that has not been done, and builds it: its targets, or those named.
build_preset() {
  local preset=$1
  shift
  if [[ ! -f build/$preset/build.ninja ]]; then
    say "configuring preset $preset"
    cmake --preset "$preset" </dev/null
  fi
  say "building preset $preset with $(build_jobs) jobs"
  cmake --build --preset "$preset" -j "$(build_jobs)" ${1:+--target "$@"} </dev/null
}
