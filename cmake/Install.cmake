# What `cmake --install` puts below its prefix. Programs find each other by
# relative paths (src/cli/install_layout.h), so the prefix may be moved.
#   bin/deadheat, deadheat-cc, deadheat-c++
#   lib/deadheat/                 the runtime and what compilers need to link it
#   lib/cmake/Deadheat/           find_package(Deadheat)
#   lib/pkgconfig/deadheat.pc
#   include/deadheat/             annotations for users
include(CMakePackageConfigHelpers)
set(package_directory lib/cmake/Deadheat)

# The runtime is built into this directory, under all its names.
install(DIRECTORY ${PROJECT_BINARY_DIR}/lib/deadheat/ DESTINATION lib/deadheat USE_SOURCE_PERMISSIONS)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/deadheat DESTINATION include)
install(CODE [[
  foreach(name deadheat-cc deadheat-c++)
    file(CREATE_LINK deadheat "$ENV{DESTDIR}${CMAKE_INSTALL_PREFIX}/bin/${name}" SYMBOLIC)
  endforeach()
]])

configure_package_config_file(cmake/DeadheatConfig.cmake.in ${PROJECT_BINARY_DIR}/cmake/DeadheatConfig.cmake
  INSTALL_DESTINATION ${package_directory})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/cmake/DeadheatConfigVersion.cmake COMPATIBILITY SameMinorVersion)
configure_file(cmake/deadheat.pc.in ${PROJECT_BINARY_DIR}/cmake/deadheat.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/cmake/DeadheatConfig.cmake ${PROJECT_BINARY_DIR}/cmake/DeadheatConfigVersion.cmake
  DESTINATION ${package_directory})
install(FILES ${PROJECT_BINARY_DIR}/cmake/deadheat.pc DESTINATION lib/pkgconfig)
