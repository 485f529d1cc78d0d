# cmake -DMANIFEST=install_manifest.txt -P Uninstall.cmake: removes the files that the last
# `cmake --install` wrote, and the directories of Deadheat's own that are empty then.
if(NOT EXISTS ${MANIFEST})
  message(FATAL_ERROR "nothing to uninstall: there is no ${MANIFEST}")
endif()
file(STRINGS ${MANIFEST} files)
foreach(file ${files})
  file(REMOVE "$ENV{DESTDIR}${file}")
  get_filename_component(directory "$ENV{DESTDIR}${file}" DIRECTORY)
  list(APPEND directories "${directory}")
endforeach()
list(REMOVE_DUPLICATES directories)
list(SORT directories ORDER DESCENDING)  # those below first
foreach(directory ${directories})
  file(GLOB rest "${directory}/*")
  if(directory MATCHES "/[Dd]eadheat(/|$)" AND NOT rest)
    file(REMOVE_RECURSE "${directory}")
  endif()
endforeach()
