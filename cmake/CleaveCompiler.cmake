# Compiler, linker and cache settings: the target `cleave_flags` carries them to all of cleave.
#   everything is -fPIC, so that one precompiled header serves library, command and tests
#   -ffp-contract=off: no multiply-add is fused that the source doesn't ask for
#   no debug information unless CMAKE_BUILD_TYPE asks for it

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Release (-O2), Debug or RelWithDebInfo" FORCE)
endif()
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_CXX_SCAN_FOR_MODULES OFF)
set(CMAKE_LINK_DEPENDS_NO_SHARED ON)

set(cleave_is_clang $<CXX_COMPILER_ID:Clang>)

add_library(cleave_flags INTERFACE)
target_compile_options(cleave_flags INTERFACE
  -fPIC -fvisibility=hidden -fvisibility-inlines-hidden -ffp-contract=off
  -Wall -Wextra -Wpedantic $<$<BOOL:${CLEAVE_WERROR}>:-Werror>
  $<$<CXX_COMPILER_ID:GNU>:-fno-semantic-interposition>
  # g++ 12 sees overlaps and overruns in inlined std::string operators (GCC PR 105329, 105651);
  # clang and the sanitizers look for real ones
  "$<$<CXX_COMPILER_ID:GNU>:-Wno-restrict;-Wno-array-bounds;-Wno-stringop-overflow>"
  # ccache needs to see the contents after a precompiled header
  $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>
  "$<${cleave_is_clang}:SHELL:-Xclang -fno-pch-timestamp>"
  # clang doesn't see that libstdc++ 12 silences what its own std::stable_sort calls
  $<${cleave_is_clang}:-Wno-deprecated-declarations>
  # designated initialisers leave out what has a default
  -Wno-missing-field-initializers)

# Sanitizers. `function` and `vptr` look at memory beside functions and objects that generated
# kernels and LLVM's library, compiled without them, don't have.
if(CLEAVE_SANITIZE OR CLEAVE_FUZZ)
  set(sanitize ${CLEAVE_SANITIZE})
  if(CLEAVE_FUZZ)
    list(APPEND sanitize fuzzer-no-link address undefined)
  endif()
  list(JOIN sanitize "," sanitize)
  target_compile_options(cleave_flags INTERFACE -fsanitize=${sanitize} -fno-sanitize=function,vptr
    -fno-sanitize-recover=all -fno-omit-frame-pointer -gline-tables-only)
  target_link_options(cleave_flags INTERFACE -fsanitize=${sanitize} -fno-sanitize=function,vptr)
  set(CMAKE_CXX_FLAGS_RELEASE "-O1 -D_GLIBCXX_ASSERTIONS")
endif()

# lld links in a fraction of ld's time. g++ looks for the plain name `ld.lld`, so it is shown where.
find_program(CLEAVE_LLD NAMES ld.lld HINTS /usr/lib/llvm-19/bin)
if(CLEAVE_LLD)
  get_filename_component(lld_folder ${CLEAVE_LLD} DIRECTORY)
  target_link_options(cleave_flags INTERFACE -fuse-ld=lld
    $<$<CXX_COMPILER_ID:GNU>:-B${lld_folder}>)
endif()
target_link_options(cleave_flags INTERFACE -Wl,--as-needed -Wl,--gc-sections)

if(CLEAVE_CCACHE)
  find_program(CLEAVE_CCACHE_PROGRAM ccache)
  if(CLEAVE_CCACHE_PROGRAM)
    set(CMAKE_CXX_COMPILER_LAUNCHER env
      CCACHE_SLOPPINESS=pch_defines,time_macros
      # build folders of one checkout share results, checkouts don't: a precompiled header holds paths
      CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NAMESPACE=${PROJECT_SOURCE_DIR}
      ${PROJECT_SOURCE_DIR}/cmake/through_ccache ${CLEAVE_CCACHE_PROGRAM})
  endif()
endif()
