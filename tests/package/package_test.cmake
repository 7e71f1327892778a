# cmake -DBUILD=.. -DSOURCE=.. -DGENERATOR=.. -DC=.. -DCXX=.. -P package_test.cmake
cmake_minimum_required(VERSION 3.25)
set(scratch "${BUILD}/package-test")
file(REMOVE_RECURSE "${scratch}")

# must_exit(STATUS WORDS COMMAND...): the command ends with that status and prints the words.
function(must_exit expected words)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE out ERROR_VARIABLE out)
  if(NOT status EQUAL expected OR NOT out MATCHES "${words}")
    list(JOIN ARGN " " command)
    message(FATAL_ERROR
            "${command}\nexit status ${status}, expected ${expected} and '${words}' in:\n${out}")
  endif()
  set(printed "${out}" PARENT_SCOPE)
endfunction()

# must(WORDS COMMAND...): the command succeeds and prints the words.
function(must words)
  must_exit(0 "${words}" ${ARGN})
  set(printed "${printed}" PARENT_SCOPE)
endfunction()

function(build_example name prefix)
  must("" ${CMAKE_COMMAND} -S "${SOURCE}/examples/${name}" -B "${scratch}/${name}" -G "${GENERATOR}"
       "-DCMAKE_C_COMPILER=${C}" "-DCMAKE_CXX_COMPILER=${CXX}" "-DCMAKE_PREFIX_PATH=${prefix}"
       -DCMAKE_FIND_USE_PACKAGE_REGISTRY=OFF ${ARGN})
  must("" ${CMAKE_COMMAND} --build "${scratch}/${name}")
endfunction()

# One operator, with all that is installed.
must("" ${CMAKE_COMMAND} --install "${BUILD}" --prefix "${scratch}/all")
build_example(one_operator "${scratch}/all")
must("y\\[0, 0\\] = 13.*schedule .*/poly for" "${scratch}/one_operator/one_operator")

# The same from C, through the shared library alone.
build_example(one_operator_c "${scratch}/all")
must("C\\[1, 0\\] = 12, by poly" "${scratch}/one_operator_c/one_operator_c")
must("" ldd "${scratch}/one_operator_c/one_operator_c")
if(printed MATCHES "LLVM")
  message(FATAL_ERROR "a program with the C API is linked with LLVM:\n${printed}")
endif()
file(GLOB_RECURSE shared "${scratch}/all/libpolyte_compiler.so")
must("" ${CMAKE_NM} -D --defined-only "${shared}")
string(REGEX MATCHALL " T [^\n]+" exported "${printed}")
if(NOT exported STREQUAL " T polyte_compiler_get_api")
  message(FATAL_ERROR "${shared} exports${exported}, expected polyte_compiler_get_api alone")
endif()

# The same from Rust, by what bindgen makes of the header; and the runtime's header.
find_program(BINDGEN bindgen)
find_program(RUSTC rustc)
if(BINDGEN AND RUSTC)
  set(rust "${scratch}/rust")
  file(COPY "${SOURCE}/examples/one_operator_rust/main.rs" DESTINATION "${rust}")
  set(include "${scratch}/all/include/polyte")
  must("" ${BINDGEN} "${include}/driver/api/polyte_compiler.h" -o "${rust}/polyte.rs" --
       "-I${include}")
  cmake_path(GET shared PARENT_PATH folder)
  must("" ${RUSTC} --edition 2021 "${rust}/main.rs" -o "${rust}/main" -L "${folder}" -l
       polyte_compiler -C "link-arg=-Wl,-rpath,${folder}")
  must("C\\[1, 0\\] = 12, by poly" "${rust}/main")
  must("" ${BINDGEN} "${include}/runtime/polyte_runtime.h" -o "${rust}/runtime.rs" --
       "-I${include}")
  must("" ${RUSTC} --edition 2021 --crate-type lib -A warnings "${rust}/runtime.rs" -o
       "${rust}/runtime.rlib")
endif()

# With the notices of all that is in it.
file(READ "${scratch}/all/share/doc/polyte/THIRD-PARTY-NOTICES" notices)
foreach(software "LLVM" "isl" "imath" "protobuf" "Boost" "xxhash|xxHash" "libsodium|sodium" "zlib"
                 "nlohmann" "CLI11|cli11")
  if(NOT notices MATCHES "${software}")
    message(FATAL_ERROR "THIRD-PARTY-NOTICES does not name ${software}")
  endif()
endforeach()

# An artifact, with the runtime alone: no LLVM, isl or protobuf to build, none to run.
must("" ${CMAKE_COMMAND} --install "${BUILD}" --prefix "${scratch}/runtime" --component runtime)
build_example(run_artifact "${scratch}/runtime" -DCMAKE_DISABLE_FIND_PACKAGE_LLVM=ON
              -DCMAKE_DISABLE_FIND_PACKAGE_Protobuf=ON)
must("" "${scratch}/all/bin/polyte" compile "${SOURCE}/examples/digits/digits.onnx" -o
     "${scratch}/digits.polyte")
must("probabilities\\[0\\] = 0\\.[0-9]+|probabilities\\[0\\] = [0-9.]+e-"
     "${scratch}/run_artifact/run_artifact" "${scratch}/digits.polyte")
must("" ldd "${scratch}/run_artifact/run_artifact")
if(printed MATCHES "LLVM|isl|protobuf")
  message(FATAL_ERROR "the runtime alone needs the compiler's libraries:\n${printed}")
endif()

# The command line loads its compiler, and with it LLVM, at the first call: what runs an artifact
# needs neither.
set(polyte "${scratch}/all/bin/polyte")
must("" ldd "${polyte}")
if(printed MATCHES "LLVM")
  message(FATAL_ERROR "the command line is linked with LLVM:\n${printed}")
endif()
file(GLOB_RECURSE module "${scratch}/all/libpolyte_codegen.so")
file(REMOVE "${module}")
must("polyte [0-9.]+" "${polyte}" --version)
must("compile" "${polyte}" --help)
must("probabilities" "${polyte}" run "${scratch}/digits.polyte" --fill normal:1 --print-top 1)
must_exit(3 "libpolyte_codegen.so, which polyte needs to compile, cannot be loaded" "${polyte}"
          compile "${SOURCE}/examples/digits/digits.onnx" -o "${scratch}/never.polyte")

# The runtime as one shared library, for those who load it by name: small, and nothing seen but
# the C API.
file(GLOB_RECURSE shared "${scratch}/runtime/libpolyte_runtime.so")
file(SIZE "${shared}" bytes)
if(bytes GREATER 1000000)
  message(FATAL_ERROR "${shared} has ${bytes} bytes, expected less than 1 MB")
endif()
must("" ${CMAKE_NM} -D --defined-only "${shared}")
string(REGEX MATCHALL " T [^\n]+" exported "${printed}")
if(NOT exported STREQUAL " T polyte_runtime_get_api")
  message(FATAL_ERROR "${shared} exports${exported}, expected polyte_runtime_get_api alone")
endif()

# Asking for the compiler where only the runtime is installed is refused.
execute_process(COMMAND ${CMAKE_COMMAND} -S "${SOURCE}/examples/one_operator" -B
                "${scratch}/refused" -G "${GENERATOR}" "-DCMAKE_PREFIX_PATH=${scratch}/runtime"
                RESULT_VARIABLE status OUTPUT_QUIET ERROR_QUIET)
if(status EQUAL 0)
  message(FATAL_ERROR
          "examples/one_operator configured against an installation without the compiler")
endif()
file(REMOVE_RECURSE "${scratch}")
