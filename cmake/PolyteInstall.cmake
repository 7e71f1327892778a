# What `cmake --install` gives a stranger's project, in two components:
#   runtime    Polyte::runtime, to run artifacts: neither LLVM nor isl is needed
#   compiler   Polyte::api (driver/api/polyte.h) and all below it, and the command line
# find_package(Polyte) finds both, find_package(Polyte COMPONENTS runtime) the first alone.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(polyte_config_dir "${CMAKE_INSTALL_LIBDIR}/cmake/Polyte")
set(polyte_runtime_targets polyte_support polyte_runtime)
set(polyte_compiler_targets polyte_isl polyte_ir polyte_graph polyte_onnx_proto polyte_frontend
                            polyte_schedule polyte_poly polyte_lower polyte_codegen polyte_driver
                            polyte_api)

foreach(component runtime compiler)
  foreach(target IN LISTS polyte_${component}_targets)
    string(REPLACE "polyte_" "" name ${target})
    set_target_properties(${target} PROPERTIES EXPORT_NAME ${name})
  endforeach()
  install(TARGETS ${polyte_${component}_targets} EXPORT polyte_${component}
          ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT ${component}
          INCLUDES DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/polyte")
  install(EXPORT polyte_${component} FILE Polyte_${component}.cmake NAMESPACE Polyte::
          DESTINATION "${polyte_config_dir}" COMPONENT ${component})
endforeach()
install(TARGETS polyte_runtime_shared LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}"
        COMPONENT runtime)
install(TARGETS polyte_compiler_shared LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}"
        COMPONENT compiler)
configure_file(cmake/polyte.pc.in "${CMAKE_BINARY_DIR}/polyte.pc" @ONLY)
install(FILES "${CMAKE_BINARY_DIR}/polyte.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig"
        COMPONENT compiler)
if(TARGET polyte_codegen_module)
  set(polyte_module_dir "${CMAKE_INSTALL_LIBDIR}/polyte")
  install(TARGETS polyte_codegen_module LIBRARY DESTINATION "${polyte_module_dir}"
          COMPONENT compiler)
  file(RELATIVE_PATH polyte_module_path "${CMAKE_INSTALL_FULL_BINDIR}"
       "${CMAKE_INSTALL_FULL_LIBDIR}/polyte")
  # One run path for both places: to exchange it when it installs, CMake ends the build's with
  # ':', and an empty element is the current folder, where anybody may put a library. The installed
  # program then loses the build's part.
  set(polyte_rpath "\$ORIGIN/${polyte_module_path}")
  set_target_properties(polyte PROPERTIES BUILD_WITH_INSTALL_RPATH ON
                        INSTALL_RPATH "$ORIGIN/codegen;$ORIGIN/${polyte_module_path}")
endif()
install(TARGETS polyte RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}" COMPONENT compiler)
if(TARGET polyte_codegen_module)
  install(CODE "file(RPATH_CHANGE
                FILE \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_BINDIR}/polyte\"
                OLD_RPATH \"\\\$ORIGIN/codegen:\\${polyte_rpath}\" NEW_RPATH \"\\${polyte_rpath}\")"
          COMPONENT compiler)
endif()

# What TAB offers, where each shell looks for it: printed by the program that is installed. Not
# for another processor's.
if(NOT CMAKE_CROSSCOMPILING)
  foreach(shell_file "bash bash-completion/completions/polyte" "zsh zsh/site-functions/_polyte"
                     "fish fish/vendor_completions.d/polyte.fish")
    separate_arguments(shell_file)
    list(GET shell_file 0 shell)
    list(GET shell_file 1 place)
    install(CODE "
      set(file \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_DATADIR}/${place}\")
      get_filename_component(folder \"\${file}\" DIRECTORY)
      file(MAKE_DIRECTORY \"\${folder}\")
      set(program \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_BINDIR}/polyte\")
      execute_process(COMMAND \"\${program}\" completion ${shell}
                      OUTPUT_FILE \"\${file}\" RESULT_VARIABLE status)
      if(status)
        message(FATAL_ERROR \"\${file}: polyte completion ${shell} failed\")
      endif()
    " COMPONENT compiler)
  endforeach()
endif()
# What the program looks up when it runs, in share/polyte of the prefix: suites, their Programs, and
# what runs peers of the lab in Python. A build has the sources there.
file(MAKE_DIRECTORY "${CMAKE_BINARY_DIR}/share/polyte")
foreach(folder bench examples)
  file(CREATE_LINK "${PROJECT_SOURCE_DIR}/${folder}" "${CMAKE_BINARY_DIR}/share/polyte/${folder}"
       SYMBOLIC)
endforeach()
install(FILES bench/gpu/kit/__init__.py bench/gpu/kit/driver.py
        DESTINATION "${CMAKE_INSTALL_DATADIR}/polyte/bench/gpu/kit" COMPONENT compiler)
foreach(folder bench/suites bench/lab_peers bench/polybench examples/programs examples/schedules)
  get_filename_component(parent ${folder} DIRECTORY)
  install(DIRECTORY ${folder} DESTINATION "${CMAKE_INSTALL_DATADIR}/polyte/${parent}"
          COMPONENT compiler FILES_MATCHING
          PATTERN "*.toml" PATTERN "*.program" PATTERN "sizes.json" PATTERN "lab_peers/*.py"
          PATTERN "peers" EXCLUDE PATTERN "gpu" EXCLUDE PATTERN "__pycache__" EXCLUDE)
endforeach()

# Whose software is in these files; from what this machine has installed, when it is installed.
install(CODE "
  set(folder \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_DATADIR}/doc/polyte\")
  set(notices \"\${folder}/THIRD-PARTY-NOTICES\")
  file(MAKE_DIRECTORY \"\${folder}\")
  execute_process(COMMAND \"${PROJECT_SOURCE_DIR}/tools/third_party_notices\"
                  OUTPUT_FILE \"\${notices}\" RESULT_VARIABLE status)
  if(status)
    message(WARNING \"\${notices} is not complete\")
  endif()
" COMPONENT runtime)
install(FILES docs/lab-results.schema.json DESTINATION "${CMAKE_INSTALL_DATADIR}/polyte"
        COMPONENT runtime)
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" DESTINATION "${CMAKE_INSTALL_DATADIR}/doc/polyte"
        COMPONENT runtime)

# Headers keep their folders: #include "runtime/session.h".
install(DIRECTORY support runtime DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/polyte" COMPONENT runtime
        FILES_MATCHING PATTERN "*.h")
install(DIRECTORY ir DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/polyte" COMPONENT compiler
        FILES_MATCHING PATTERN "*.h")
install(FILES driver/api/polyte.h driver/api/polyte_compiler.h
        DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/polyte/driver/api" COMPONENT compiler)

configure_package_config_file(cmake/PolyteConfig.cmake.in "${CMAKE_BINARY_DIR}/PolyteConfig.cmake"
                              INSTALL_DESTINATION "${polyte_config_dir}")
write_basic_package_version_file("${CMAKE_BINARY_DIR}/PolyteConfigVersion.cmake"
                                 COMPATIBILITY SameMinorVersion)
install(FILES "${CMAKE_BINARY_DIR}/PolyteConfig.cmake"
        "${CMAKE_BINARY_DIR}/PolyteConfigVersion.cmake" DESTINATION "${polyte_config_dir}"
        COMPONENT runtime)
