# What is to be read, and under which terms: share/doc/PACKAGE/copyright of each component, with the notices of the
# libraries whose code is compiled into ours (templates and inline functions of their headers); the documents and
# examples in share/doc/deadheat.
set(compiled_in libcli11-dev nlohmann-json3-dev libfmt-dev)

file(READ ${PROJECT_SOURCE_DIR}/LICENSE terms)
string(PREPEND terms "Deadheat is under the Apache License 2.0, which follows. Its programs contain code from the headers of other\n"
  "libraries; the notices of these come after it, as Debian has them.\n\n")
foreach(library IN LISTS compiled_in)
  set(notice /usr/share/doc/${library}/copyright)
  if(EXISTS ${notice})
    file(READ ${notice} text)
    string(APPEND terms "\n==== ${library} ====\n\n${text}")
  else()
    message(WARNING "no notice of ${library} for the packages: ${notice} does not exist")
  endif()
endforeach()
file(WRITE ${PROJECT_BINARY_DIR}/doc/copyright "${terms}")

foreach(package_of "cli:deadheat" "runtime:libdeadheat" "dev:libdeadheat-dev")
  string(REPLACE ":" ";" names ${package_of})
  list(GET names 0 component)
  list(GET names 1 package)
  install(FILES ${PROJECT_BINARY_DIR}/doc/copyright DESTINATION share/doc/${package} COMPONENT ${component})
endforeach()

install(FILES ${PROJECT_SOURCE_DIR}/README.md ${PROJECT_SOURCE_DIR}/CHANGELOG.md DESTINATION share/doc/deadheat COMPONENT cli)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs ${PROJECT_SOURCE_DIR}/examples DESTINATION share/doc/deadheat COMPONENT cli)
