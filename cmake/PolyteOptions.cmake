# Build options and the compile flags that every target of the project shares.
option(POLYTE_TESTS "build the tests" ON)
# Half of the time of a build is spent on headers and on templates that neighbours share. Names
# without linkage have to differ within a batch; the clang preset, which compiles each file by
# itself, shows where one lacks an include.
option(POLYTE_BATCHES "compile sources of a target together, a few at a time" ON)
set(POLYTE_BATCH 16)
set(POLYTE_SANITIZE "" CACHE STRING
    "sanitizers for every target, as -fsanitize= takes them: address,undefined or thread")

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()
# Without NDEBUG: checks of the compiler stay on in release builds. -O2 would take a seventh more
# of the build's time and makes nothing faster that was measured (networks, PolyBench and fuzzing
# within 1 %), for the time goes to isl, LLVM and the kernels themselves.
set(CMAKE_CXX_FLAGS_RELEASE "-O1")
set(CMAKE_C_FLAGS_RELEASE "-O1")

add_library(polyte_flags INTERFACE)
# g++ 12 takes a class with its own operator new (LLVM) for two that do not match, and a batch's
# sources for headers. A batch takes a gigabyte at most: to collect garbage meanwhile is a seventh
# of the build's time.
set(polyte_gnu_flags -Wno-restrict -Wno-array-bounds -Wno-stringop-overflow -Wno-subobject-linkage
                     -Wno-mismatched-new-delete -fpch-preprocess --param=ggc-min-heapsize=2000000)
target_compile_options(polyte_flags INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Werror
                       "$<$<COMPILE_LANG_AND_ID:CXX,GNU>:${polyte_gnu_flags}>")
target_include_directories(polyte_flags INTERFACE "${PROJECT_SOURCE_DIR}")
if(POLYTE_SANITIZE)
  # -O1: g++ 12 takes twice as long over instrumented code at -O2. It also takes the sanitizers' own
  # paths for uses of uninitialised values.
  target_compile_options(polyte_flags INTERFACE
                         -fsanitize=${POLYTE_SANITIZE} -fno-omit-frame-pointer -O1 -g1
                         # What is undefined ends the program: else its test passes.
                         -fno-sanitize-recover=all
                         $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>
                         # Functions of the CUDA driver, whose types have names of ours; kernels.
                         $<$<CXX_COMPILER_ID:Clang>:-fno-sanitize=function>)
  # An index within the capacity of a vector, beyond its size, is valid memory to a sanitizer.
  target_compile_definitions(polyte_flags INTERFACE _GLIBCXX_ASSERTIONS)
  target_link_options(polyte_flags INTERFACE -fsanitize=${POLYTE_SANITIZE})
  if(POLYTE_SANITIZE MATCHES "address")
    # Each compiler has its own way to say it.
    target_compile_definitions(polyte_flags INTERFACE POLYTE_ADDRESS_SANITIZER)
  endif()
endif()

# Hardening, for every target of the project: symbols are bound before main and their table is
# then read-only, programs lie where the loader likes, stacks are not code; frames with arrays
# have a canary, copies of known size are checked by libc (sanitizers bring checks of their own).
# No -fcf-protection: it takes effect only where all libraries of a process have it, and Debian's
# have not.
include(CheckPIESupported)
check_pie_supported(LANGUAGES C CXX)
add_link_options(LINKER:-z,relro,-z,now,-z,noexecstack)
# Tells builds apart: what one of them has compiled is not another one's (driver/api).
add_link_options(LINKER:--build-id)
if(NOT POLYTE_SANITIZE)
  add_compile_options(-fstack-protector-strong)
  add_compile_definitions($<$<CONFIG:Release,RelWithDebInfo,MinSizeRel>:_FORTIFY_SOURCE=2>)
endif()

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM)
  set(CMAKE_CXX_COMPILER_LAUNCHER "${PROJECT_SOURCE_DIR}/cmake/compile_cached;${CCACHE_PROGRAM}")
  set(CMAKE_C_COMPILER_LAUNCHER "${CCACHE_PROGRAM}")
endif()
