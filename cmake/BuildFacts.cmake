# cmake -D... -P BuildFacts.cmake: writes the source of cli/build_facts.h, if it changed.
# In: OUTPUT, SOURCE_DIR, VERSION, COMPILER, CONFIGURATION, LLVM_INCLUDE (may be empty), FEATURES.
execute_process(COMMAND git -C ${SOURCE_DIR} rev-parse --short=12 HEAD
  OUTPUT_VARIABLE commit ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE no_commit)
if(no_commit)
  set(commit "unknown")
else()
  execute_process(COMMAND git -C ${SOURCE_DIR} diff --quiet HEAD RESULT_VARIABLE changed ERROR_QUIET)
  if(changed)
    string(APPEND commit ", changed")
  endif()
endif()
set(llvm "none, accesses are checked by calls")
if(EXISTS "${LLVM_INCLUDE}/llvm/Config/llvm-config.h")
  file(STRINGS ${LLVM_INCLUDE}/llvm/Config/llvm-config.h llvm REGEX "define LLVM_VERSION_STRING")
  string(REGEX REPLACE ".*\"(.*)\"" "\\1" llvm "${llvm}")
endif()
set(content "#include \"cli/build_facts.h\"
const char deadheat::kBuildFacts[] = R\"(deadheat ${VERSION}
commit    ${commit}
compiler  ${COMPILER}, ${CONFIGURATION}
LLVM      ${llvm}
features  ${FEATURES}
)\";
")
set(old "")
if(EXISTS ${OUTPUT})
  file(READ ${OUTPUT} old)
endif()
if(NOT old STREQUAL content)
  file(WRITE ${OUTPUT} "${content}")
endif()
