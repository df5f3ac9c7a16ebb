# The package in the build folder, for PYTHONPATH=build/release/python: the extension, beside links to
# the package's files.
set(package ${PROJECT_BINARY_DIR}/python/cleave)
set_target_properties(cleave_python PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${package})
if(TARGET cleave_clang)
  add_dependencies(cleave_python cleave_clang)
endif()
file(GLOB_RECURSE files CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR}/cleave
     ${CMAKE_CURRENT_SOURCE_DIR}/cleave/*.py ${CMAKE_CURRENT_SOURCE_DIR}/cleave/py.typed)
file(GLOB_RECURSE links ${package}/*.py)
if(links)
  file(REMOVE ${links})
endif()
foreach(file IN LISTS files)
  get_filename_component(folder ${package}/${file} DIRECTORY)
  file(MAKE_DIRECTORY ${folder})
  file(CREATE_LINK ${CMAKE_CURRENT_SOURCE_DIR}/cleave/${file} ${package}/${file} SYMBOLIC)
endforeach()
nanobind_add_stub(cleave_stub MODULE _core OUTPUT ${package}/_core.pyi PYTHON_PATH ${package}
                  DEPENDS cleave_python)

# What makes torch.compile(backend="cleave") find it, as an installed package has it.
set(about ${PROJECT_BINARY_DIR}/python/cleave-${version}.dist-info)
file(WRITE ${about}/METADATA "Metadata-Version: 2.1\nName: cleave\nVersion: ${version}\n")
file(WRITE ${about}/entry_points.txt "[torch_dynamo_backends]\ncleave = cleave.dynamo:backend\n")
