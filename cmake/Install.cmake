# What `cmake --install` puts below its prefix. Programs find each other by
# relative paths (src/cli/install_layout.h), so the prefix may be moved.
#   bin/deadheat, deadheat-cc, deadheat-c++                    component cli
#   share/doc/                    copyright, documents         all components (Documents.cmake)
#   share/man/man1/, completion scripts of three shells        component cli
#   lib/deadheat/                 the runtime in all its forms component runtime
#   lib/deadheat/libdeadheat_pass.so, libdeadheat_gcc_pass.so  component dev
#   lib/cmake/Deadheat/           find_package(Deadheat)       component dev
#   lib/pkgconfig/deadheat.pc                                  component dev
#   include/deadheat/             annotations for users        component dev
# The components are the Debian packages deadheat, libdeadheat and libdeadheat-dev (Package.cmake).
# `cmake --build DIR --target uninstall` removes what was installed.
include(CMakePackageConfigHelpers)
set(package_directory lib/cmake/Deadheat)

# The runtime is built into this directory, under all its names.
install(DIRECTORY ${PROJECT_BINARY_DIR}/lib/deadheat/ DESTINATION lib/deadheat USE_SOURCE_PERMISSIONS COMPONENT runtime
  PATTERN libdeadheat_pass.so EXCLUDE
  PATTERN libdeadheat_gcc_pass.so EXCLUDE)
foreach(plugin deadheat_pass deadheat_gcc_pass)
  if(TARGET ${plugin})
    install(FILES $<TARGET_FILE:${plugin}> DESTINATION lib/deadheat COMPONENT dev)
  endif()
endforeach()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/deadheat DESTINATION include COMPONENT dev)
install(FILES ${PROJECT_BINARY_DIR}/bin/deadheat-cc ${PROJECT_BINARY_DIR}/bin/deadheat-c++ DESTINATION bin COMPONENT cli)

# Manual pages and completions, made by the command itself (src/cli/CMakeLists.txt).
install(DIRECTORY ${PROJECT_BINARY_DIR}/share DESTINATION . COMPONENT cli)

configure_package_config_file(cmake/DeadheatConfig.cmake.in ${PROJECT_BINARY_DIR}/cmake/DeadheatConfig.cmake
  INSTALL_DESTINATION ${package_directory})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/cmake/DeadheatConfigVersion.cmake COMPATIBILITY SameMinorVersion)
configure_file(cmake/deadheat.pc.in ${PROJECT_BINARY_DIR}/cmake/deadheat.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/cmake/DeadheatConfig.cmake ${PROJECT_BINARY_DIR}/cmake/DeadheatConfigVersion.cmake
  DESTINATION ${package_directory} COMPONENT dev)
install(FILES ${PROJECT_SOURCE_DIR}/cmake/toolchain.cmake DESTINATION ${package_directory} COMPONENT dev)
install(FILES ${PROJECT_BINARY_DIR}/cmake/deadheat.pc DESTINATION lib/pkgconfig COMPONENT dev)

add_custom_target(uninstall VERBATIM
  COMMAND ${CMAKE_COMMAND} -DMANIFEST=${PROJECT_BINARY_DIR}/install_manifest.txt
    -P ${PROJECT_SOURCE_DIR}/cmake/Uninstall.cmake)

include(cmake/Documents.cmake)
include(cmake/Package.cmake)
