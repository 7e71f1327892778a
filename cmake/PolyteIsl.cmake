# Polyte::isl: the library that LLVM's packages have for Polly. Its integers are machine words
# until they outgrow them (`imath-32`), where Debian's libisl has GMP: proofs and schedules
# take two thirds to three quarters of the time. It is linked into each program and hidden
# there, for libLLVM has Polly's copy too. The C++ binding over these headers, isl/cpp.h, comes
# with Debian's libisl-dev.
find_package(LLVM 19.1 CONFIG REQUIRED HINTS /usr/lib/llvm-19/lib/cmake/llvm)
find_library(POLYTE_POLLY_ISL NAMES libPollyISL.a PATHS "${LLVM_LIBRARY_DIR}" NO_DEFAULT_PATH)
find_path(POLYTE_POLLY_ISL_HEADERS NAMES isl/ctx.h
          PATHS "${LLVM_INCLUDE_DIR}/polly" NO_DEFAULT_PATH)
find_path(POLYTE_ISL_BINDING NAMES isl/cpp.h)
if(NOT POLYTE_POLLY_ISL OR NOT POLYTE_POLLY_ISL_HEADERS OR NOT POLYTE_ISL_BINDING)
  message(FATAL_ERROR "needed: libPollyISL.a in ${LLVM_LIBRARY_DIR} with its headers, Debian's "
                      "package libpolly-19-dev; isl/cpp.h, Debian's libisl-dev")
endif()

add_library(polyte_isl INTERFACE)
target_include_directories(polyte_isl SYSTEM
                           INTERFACE "$<BUILD_INTERFACE:${POLYTE_POLLY_ISL_HEADERS}>")
target_link_libraries(polyte_isl INTERFACE "${POLYTE_POLLY_ISL}")
target_link_options(polyte_isl INTERFACE LINKER:--exclude-libs,libPollyISL.a)
