// Runs a stage: what it throws becomes a failure that names the stage.
//
//   throw_bug, a broken invariant       bug
//   std::bad_alloc                      user: the system has not enough memory
//   what else a library may throw       bug
//
// Rules of custom operators don't throw so far (trace/custom_op.cpp), an executor of the host
// program may. Failures that the stage returns are left as they are.
#pragma once
#include <exception>
#include <new>

#include "compile/stages.h"

namespace cleave {

template <class Run>
auto at_stage(Stage stage, const Run& run) -> decltype(run()) {
  try {
    return run();
  } catch (const Error& e) {
    return Failure{e.kind(), e.what()}.within(fmt::format("stage {}", name_of(stage)));
  } catch (const std::bad_alloc&) {
    return user_error("stage {}: the system has not enough memory for this", name_of(stage));
  } catch (const std::exception& e) { return bug("stage {}: {}", name_of(stage), e.what()); }
}

}  // namespace cleave
