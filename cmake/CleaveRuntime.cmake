# libcleave_rt.a: what programs that are built ahead of time run on (src/standalone), without the
# compiler's rooms and without libraries but libc, libm and libstdc++. libcleave.so has the same
# objects.

set(runtime_sources ${cleave_sources})
list(FILTER runtime_sources INCLUDE REGEX "/src/(base|library|run|runtime|standalone)/")
# What asks for compilers, files of text and JSON.
list(FILTER runtime_sources EXCLUDE REGEX
     "/src/runtime/(alloc_watch|cc_compiler|ceilings|compiler|elf_machine|elf_machine_aarch64|elf_object|external_symbols|known_compiler|library_folders|object_code|open_clang|private_folder|subprocess)[.]cpp$")
list(FILTER runtime_sources EXCLUDE REGEX
     "/src/base/(build_identity|byte_size|cuda_arch|edit_distance|host_tensor|json|print_host_tensor|progress|resident_bytes|target|target_file|target_here|write_file)[.]cpp$")

function(cleave_add_runtime)
  cleave_add_objects(cleave_rt_objects pch.h ${ARGN})
  # What a program doesn't call is left out by the linker.
  target_compile_options(cleave_rt_objects PRIVATE -ffunction-sections -fdata-sections)
  # fmt's functions are compiled in, as there may be no archive of them.
  target_compile_definitions(cleave_rt_objects PRIVATE FMT_HEADER_ONLY=1)
  # Not into code for one instruction set, which shows no functions (script/check_targets).
  set(sets ${ARGN})
  list(FILTER sets INCLUDE REGEX "_avx[^/]*[.]cpp$")
  set_source_files_properties(${sets} PROPERTIES SKIP_PRECOMPILE_HEADERS ON
                                                 COMPILE_OPTIONS -UFMT_HEADER_ONLY)
  add_library(cleave_rt STATIC $<TARGET_OBJECTS:cleave_rt_objects>)
  set_target_properties(cleave_rt PROPERTIES LINKER_LANGUAGE CXX)
endfunction()
