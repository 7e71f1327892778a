# Run by cpack before it packs. Into the archive go the libraries that the binaries need, but those
# of the C and C++ compiler, which every system has; each looks for the others beside itself. Their
# notices go with them.
if(NOT CPACK_GENERATOR STREQUAL "TGZ")
  return()
endif()
find_program(PATCHELF patchelf)
find_program(DPKG_QUERY dpkg-query)
if(NOT PATCHELF OR NOT DPKG_QUERY)
  message(FATAL_ERROR
          "patchelf or dpkg-query is not installed, expected both: tools/package installs them")
endif()

function(run)
  execute_process(COMMAND ${ARGN} OUTPUT_VARIABLE out COMMAND_ERROR_IS_FATAL ANY
                  OUTPUT_STRIP_TRAILING_WHITESPACE)
  set(out "${out}" PARENT_SCOPE)
endfunction()

set(root "${CPACK_TEMPORARY_DIRECTORY}")
set(beside "${root}/lib/polyte")
file(GLOB ours "${root}/bin/polyte" "${root}/lib/libpolyte_*.so" "${beside}/libpolyte_*.so")
list(LENGTH ours count)
if(count LESS 4)
  message(FATAL_ERROR
          "${count} binaries are in ${root}, expected the program, the module and two libraries")
endif()
file(GET_RUNTIME_DEPENDENCIES LIBRARIES ${ours} RESOLVED_DEPENDENCIES_VAR needed
     PRE_EXCLUDE_REGEXES "^ld-linux" "^lib(c|m|dl|rt|pthread|gcc_s|stdc\\+\\+)\\.so" "^libpolyte_")

set(packages)
foreach(library IN LISTS needed)
  get_filename_component(name "${library}" NAME)
  get_filename_component(real "${library}" REALPATH)
  configure_file("${real}" "${beside}/${name}" COPYONLY)
  run("${PATCHELF}" --set-rpath "$ORIGIN" "${beside}/${name}")
  execute_process(COMMAND "${DPKG_QUERY}" -S "${real}" OUTPUT_VARIABLE owner ERROR_QUIET)
  if(NOT owner)  # /lib is /usr/lib, and dpkg knows one of the two
    string(REGEX REPLACE "^/usr" "" elsewhere "${real}")
    run("${DPKG_QUERY}" -S "${elsewhere}")
    set(owner "${out}")
  endif()
  string(REGEX REPLACE ":.*" "" owner "${owner}")
  list(APPEND packages "${owner}")
endforeach()
list(REMOVE_DUPLICATES packages)
foreach(file IN LISTS ours)
  get_filename_component(folder "${file}" DIRECTORY)
  file(RELATIVE_PATH up "${folder}" "${beside}/.")
  string(REGEX REPLACE "/$" "" run_path "$ORIGIN/${up}")
  run("${PATCHELF}" --set-rpath "${run_path}" "${file}")
endforeach()
run("${CMAKE_CURRENT_LIST_DIR}/../tools/third_party_notices" ${packages})
file(WRITE "${root}/share/doc/polyte/THIRD-PARTY-NOTICES" "${out}\n")
