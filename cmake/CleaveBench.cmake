# bench/X.cpp is the executable bench_X; `benches` builds them all.
add_custom_target(benches)
file(GLOB bench_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/bench/*.cpp)
if(bench_sources)
  find_package(benchmark REQUIRED)
endif()
foreach(source IN LISTS bench_sources)
  get_filename_component(name ${source} NAME_WE)
  add_executable(bench_${name} EXCLUDE_FROM_ALL ${source})
  target_include_directories(bench_${name} PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(bench_${name} PRIVATE cleave_internal benchmark::benchmark_main
                                              benchmark::benchmark)
  add_dependencies(benches bench_${name})
endforeach()
# The model that `cleave train` trains.
if(TARGET bench_step)
  target_sources(bench_step PRIVATE ${PROJECT_SOURCE_DIR}/tool/gpt.cpp)
endif()
