// The parts of cleave._core: each file here binds one of them.
#pragma once
#include <nanobind/nanobind.h>

#include "cleave/compile_log.h"
#include "cleave/device_tensor.h"
#include "cleave/executor.h"
#include "cleave/report.h"

namespace cleave::python {

namespace nb = nanobind;

void bind_errors(nb::module_& m);
void bind_tensor(nb::module_& m);
void bind_graph(nb::module_& m);
void bind_program(nb::module_& m);
void bind_partition(nb::module_& m);
void bind_model(nb::module_& m);
void bind_step(nb::module_& m);

// A tensor of Python as one of cleave's in the same memory: anything with __dlpack__ (NumPy,
// PyTorch, JAX, cleave.Tensor), and bool, int and float as tensors of 0 dims (bool, i64, f64).
// `Kept::by_caller`: the object outlives the result, which spares a reference. Errors: TypeError
// for other objects; those of from_dlpack.
enum class Kept : uint8_t { by_caller, here };
DeviceTensor tensor_of(nb::handle object, Kept kept);

// compile_ms, kernels, planned_peak_bytes, ...
nb::dict report_dict(const Report& report);

// Into Python's logger "cleave": INFO and WARNING. What its handlers raise is printed and dropped.
CompileLog python_log();

// Those of the OpenMP runtime that PyTorch has loaded, or another one that is; null: there is none,
// and programs have threads of their own.
std::shared_ptr<Executor> threads_of_openmp(int threads);

// A Tensor of Python.
nb::object to_python(HostTensor&& tensor);

}  // namespace cleave::python
