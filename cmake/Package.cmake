# Three Debian packages, by `cpack` or script/package:
#   deadheat          the command, its manual pages and completions
#   libdeadheat       the runtime, which checked programs need
#   libdeadheat-dev   annotations, CMake and pkg-config files, the plugin for clang 19
# What they need of others is read from the binaries (dpkg-shlibdeps).
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME deadheat)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_CONTACT "Deadheat maintainers <deadheat@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "data race detection for C and C++ programs")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_COMPONENTS_ALL cli runtime dev)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS OFF)  # libraries of its own directory, which nobody links by name
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_ENABLE_COMPONENT_DEPENDS OFF)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)

set(CPACK_DEBIAN_CLI_PACKAGE_NAME deadheat)
set(CPACK_DEBIAN_CLI_PACKAGE_DEPENDS "libdeadheat (= ${PROJECT_VERSION})")
set(CPACK_DEBIAN_CLI_PACKAGE_RECOMMENDS "libdeadheat-dev (= ${PROJECT_VERSION}), g++ | clang-19")
set(CPACK_DEBIAN_CLI_PACKAGE_SUGGESTS libpq5)  # loaded when a store is a PostgreSQL server
set(CPACK_COMPONENT_CLI_DESCRIPTION "The command deadheat: compiles, runs, samples, hunts, watches and reports.")

set(CPACK_DEBIAN_RUNTIME_PACKAGE_NAME libdeadheat)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SECTION libs)
set(CPACK_COMPONENT_RUNTIME_DESCRIPTION "The runtime that finds the races, for checked programs.")

set(CPACK_DEBIAN_DEV_PACKAGE_NAME libdeadheat-dev)
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEV_PACKAGE_DEPENDS "libdeadheat (= ${PROJECT_VERSION})")
set(CPACK_DEBIAN_DEV_PACKAGE_RECOMMENDS "clang-19")
set(CPACK_COMPONENT_DEV_DESCRIPTION "Annotations, CMake and pkg-config files, and the plugin for clang 19.")

include(CPack)
