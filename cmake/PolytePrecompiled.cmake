# Precompiled headers, for g++: parsing and instantiating the same headers is a third of the
# build. Files still include what they use; the clang preset, which precompiles nothing, shows
# where one does not.
set(POLYTE_PRECOMPILED_standard <algorithm> <functional> <map> <memory> <optional> <set> <sstream>
                                <string> <vector>)
set(POLYTE_PRECOMPILED_script ${POLYTE_PRECOMPILED_standard} <schedule/script/script.h>
                              <schedule/proof/prover.h>)
set(POLYTE_PRECOMPILED_llvm ${POLYTE_PRECOMPILED_standard} <llvm/IR/IRBuilder.h>
                            <llvm/IR/Intrinsics.h>)
set(POLYTE_PRECOMPILED_driver ${POLYTE_PRECOMPILED_script} <driver/compile/model.h>
                              <nlohmann/json.hpp>)
set(POLYTE_PRECOMPILED_test ${POLYTE_PRECOMPILED_standard} <doctest/doctest.h>)
set(POLYTE_PRECOMPILED_test_script ${POLYTE_PRECOMPILED_test} <schedule/script/replay.h>
                                   <ir/program_text.h>)
set(POLYTE_PRECOMPILED_test_driver ${POLYTE_PRECOMPILED_test_script} <driver/compile/model.h>)

# polyte_precompile(target kind): the first target of a kind makes the header, those after it
# use the same.
function(polyte_precompile target kind)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    return()
  endif()
  get_property(owner GLOBAL PROPERTY POLYTE_PRECOMPILED_BY_${kind})
  if(owner)
    target_precompile_headers(${target} REUSE_FROM ${owner})
  else()
    target_precompile_headers(${target} PRIVATE ${POLYTE_PRECOMPILED_${kind}})
    set_property(GLOBAL PROPERTY POLYTE_PRECOMPILED_BY_${kind} ${target})
  endif()
endfunction()
