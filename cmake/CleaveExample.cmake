# example/X.cpp is also the executable example_X of this tree, for test/peer/examples.py and
# bench/peer_examples.py; `examples` builds them all. example/CMakeLists.txt builds them as a user.
add_custom_target(examples)
if(CLEAVE_ROOMS)
  return()
endif()
file(GLOB example_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/example/*.cpp)
foreach(source IN LISTS example_sources)
  get_filename_component(name ${source} NAME_WE)
  add_executable(example_${name} EXCLUDE_FROM_ALL ${source})
  target_link_libraries(example_${name} PRIVATE cleave cleave_flags)
  add_dependencies(examples example_${name})
endforeach()
