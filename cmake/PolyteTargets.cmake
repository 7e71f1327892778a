# polyte_library(folder SOURCES a.cc b.cc DEPENDS Polyte::ir PRIVATE LLVM PRECOMPILED script)
#   one static library a folder, target polyte_<folder>, alias Polyte::<folder>; PRECOMPILED
#   standard where not said.
function(polyte_library folder)
  cmake_parse_arguments(ARG "" "PRECOMPILED" "SOURCES;DEPENDS;PRIVATE" ${ARGN})
  add_library(polyte_${folder} STATIC ${ARG_SOURCES})
  add_library(Polyte::${folder} ALIAS polyte_${folder})
  target_link_libraries(polyte_${folder} PUBLIC ${ARG_DEPENDS}
                        PRIVATE $<BUILD_INTERFACE:polyte_flags> ${ARG_PRIVATE})
  target_include_directories(polyte_${folder} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>)
  target_compile_features(polyte_${folder} PUBLIC cxx_std_20)
  if(NOT ARG_PRECOMPILED)
    set(ARG_PRECOMPILED standard)
  endif()
  polyte_precompile(polyte_${folder} ${ARG_PRECOMPILED})
  set_target_properties(polyte_${folder} PROPERTIES UNITY_BUILD ${POLYTE_BATCHES}
                        UNITY_BUILD_BATCH_SIZE ${POLYTE_BATCH})
endfunction()

# polyte_test(folder LABEL unit SOURCES a_test.cc DEPENDS Polyte::ir)
#   one doctest binary a folder of tests/, polyte_<folder>_test, run by ctest with that label. What
#   it precompiles is what its libraries need: the driver's headers, the Script's, or doctest's
#   alone. ALONE: its files are compiled one by one, where helpers have the same names. COST: of
#   a long one the seconds it takes, about: long ones go first, so that no processor waits for the
#   last.
function(polyte_test name)
  cmake_parse_arguments(ARG "ALONE" "LABEL;COST" "SOURCES;DEPENDS" ${ARGN})
  set(precompiled test)
  if("Polyte::driver" IN_LIST ARG_DEPENDS OR "Polyte::fuzz" IN_LIST ARG_DEPENDS)
    set(precompiled test_driver)
  elseif("Polyte::schedule" IN_LIST ARG_DEPENDS OR "Polyte::lower" IN_LIST ARG_DEPENDS OR
         "Polyte::poly" IN_LIST ARG_DEPENDS)
    set(precompiled test_script)
  endif()
  add_executable(polyte_${name}_test ${ARG_SOURCES})
  target_link_libraries(polyte_${name}_test PRIVATE polyte_flags polyte_test_main ${ARG_DEPENDS})
  # A third of the build's time is here. Not -O0: of inline functions that libraries have, too, the
  # linker takes the copies of the test.
  target_compile_options(polyte_${name}_test PRIVATE -Og)
  # As polyte_test_main has it.
  set_target_properties(polyte_${name}_test PROPERTIES POSITION_INDEPENDENT_CODE OFF)
  polyte_precompile(polyte_${name}_test ${precompiled})
  if(NOT ARG_ALONE)
    set_target_properties(polyte_${name}_test PROPERTIES
                          UNITY_BUILD ${POLYTE_BATCHES} UNITY_BUILD_BATCH_SIZE ${POLYTE_BATCH})
  endif()
  add_test(NAME ${name} COMMAND polyte_${name}_test WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}")
  set_tests_properties(${name} PROPERTIES LABELS "${ARG_LABEL}" COST "${ARG_COST}")
endfunction()
