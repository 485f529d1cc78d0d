# Checks a whole CMake project without changing it:
#
#   cmake -B build --toolchain /usr/lib/cmake/Deadheat/toolchain.cmake
#
# Everything is compiled with race detection, and ctest starts each program of the project by
# `deadheat run`, which honours DEADHEAT_OPTIONS and TSAN_OPTIONS with its suppressions. A build
# that already says -fsanitize=thread may go on saying so. Deadheat_COMMAND names another
# `deadheat` than the one installed with this file.
if(NOT DEFINED Deadheat_COMMAND)
  get_filename_component(Deadheat_COMMAND "${CMAKE_CURRENT_LIST_DIR}/../../../bin/deadheat" ABSOLUTE)
endif()
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES Deadheat_COMMAND)
set(CMAKE_C_COMPILER "${Deadheat_COMMAND}-cc")
set(CMAKE_CXX_COMPILER "${Deadheat_COMMAND}-c++")
if(CMAKE_VERSION VERSION_LESS 3.29)
  set(CMAKE_CROSSCOMPILING_EMULATOR "${Deadheat_COMMAND};run;--force")  # what add_test puts first in these versions
else()
  set(CMAKE_TEST_LAUNCHER "${Deadheat_COMMAND};run;--force")
endif()
