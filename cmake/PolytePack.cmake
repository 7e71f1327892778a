# What `cpack` packs (tools/package): the two components of PolyteInstall, as a Debian
# package, which names the packages that it needs, and as an archive with the libraries in it
# (pack_libraries.cmake), to be unpacked anywhere.
set(CPACK_PACKAGE_NAME polyte)
set(CPACK_PACKAGE_VENDOR "The Polyte authors")
set(CPACK_PACKAGE_CONTACT "The Polyte authors")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_PACKAGE_VERSION "${PROJECT_VERSION}")
set(CPACK_RESOURCE_FILE_LICENSE "${PROJECT_SOURCE_DIR}/LICENSE")
set(CPACK_GENERATOR DEB TGZ)
set(CPACK_INSTALL_CMAKE_PROJECTS "${CMAKE_BINARY_DIR};polyte;runtime;/"
                                 "${CMAKE_BINARY_DIR};polyte;compiler;/")
set(CPACK_PACKAGE_FILE_NAME "polyte-${PROJECT_VERSION}-linux-${CMAKE_SYSTEM_PROCESSOR}")
set(CPACK_PRE_BUILD_SCRIPTS "${PROJECT_SOURCE_DIR}/cmake/pack_libraries.cmake")

set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
# dpkg-shlibdeps finds LLVM's library at two paths, of which one belongs to llvm-19-dev, and takes
# either: half of the packages lacked this one.
set(CPACK_DEBIAN_PACKAGE_DEPENDS "libllvm${LLVM_VERSION_MAJOR}")
# To link a program with the compiler's static libraries; to run, none of them.
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "llvm-19-dev, liblld-19-dev, libpolly-19-dev, \
libprotobuf-dev, libxxhash-dev, libsodium-dev, libboost-context-dev, zlib1g-dev")
include(CPack)
