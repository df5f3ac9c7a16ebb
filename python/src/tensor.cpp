// Tensor: a tensor of cleave that NumPy, PyTorch and others take by DLPack.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <sstream>

#include "bindings.h"
#include "cleave/dlpack.h"

namespace cleave::python {
namespace {

template <class T>
void delete_unused(PyObject* capsule, const char* name) {
  if (!PyCapsule_IsValid(capsule, name)) return;  // somebody has taken it over
  auto* managed = static_cast<T*>(PyCapsule_GetPointer(capsule, name));
  managed->deleter(managed);
}

nb::object to_capsule(const DeviceTensor& t, nb::object max_version) {
  const bool is_versioned =
      !max_version.is_none() && nb::cast<int>(nb::object(max_version[0])) >= 1;
  PyObject* out =
      is_versioned
          ? PyCapsule_New(to_dlpack(t), "dltensor_versioned",
                          [](PyObject* c) {
                            delete_unused<dlpack::ManagedTensorVersioned>(c, "dltensor_versioned");
                          })
          : PyCapsule_New(to_dlpack_unversioned(t), "dltensor",
                          [](PyObject* c) { delete_unused<dlpack::ManagedTensor>(c, "dltensor"); });
  if (out == nullptr) throw nb::python_error();
  return nb::steal(out);
}

nb::object to_array(nb::object self, nb::object dtype, nb::object) {
  nb::object array = nb::module_::import_("numpy").attr("from_dlpack")(self);
  return dtype.is_none() ? array : array.attr("astype")(dtype);
}

std::string repr(const DeviceTensor& t) {
  std::ostringstream out;
  out << "cleave.Tensor(" << (t.device().is_cpu() && !t.is_const() ? "" : t.type_text());
  if (t.device().is_cpu() && !t.is_const()) out << t.host();
  out << ")";
  return out.str();
}

nb::tuple tuple_of(const std::vector<int64_t>& numbers) { return nb::tuple(nb::cast(numbers)); }

}  // namespace

nb::object to_python(HostTensor&& tensor) { return nb::cast(DeviceTensor(std::move(tensor))); }

void bind_tensor(nb::module_& m) {
  nb::class_<DeviceTensor>(m, "Tensor",
                           "A tensor of cleave: torch.from_dlpack, numpy.from_dlpack and "
                           "numpy.asarray take its memory without a copy.")
      .def(
          "__init__",
          [](DeviceTensor* self, nb::handle other) {
            new (self) DeviceTensor(tensor_of(other, Kept::here));
          },
          nb::arg("tensor"), "The memory of another tensor.")
      .def_static(
          "scalar",
          [](double value, const std::string& dtype) {
            for (int k = 0; k < dtype_count; ++k)
              if (const auto t = static_cast<DType>(k); name_of(t) == dtype)
                return to_python(HostTensor::scalar(value, t));
            throw Error(ErrorKind::user, "Tensor.scalar: there is no dtype " + dtype);
          },
          nb::arg("value"), nb::arg("dtype") = "f32", "Of no dims.")
      .def_prop_ro("shape", [](const DeviceTensor& t) { return tuple_of(t.shape()); })
      .def_prop_ro(
          "strides", [](const DeviceTensor& t) { return tuple_of(t.strides()); }, "In elements.")
      .def_prop_ro(
          "dtype", [](const DeviceTensor& t) { return std::string(name_of(t.dtype())); },
          "As the text of graphs has it: 'f32', 'bf16', 'i64', ...")
      .def_prop_ro("type", &DeviceTensor::type_text, "'f32[2,3]'")
      .def("__dlpack_device__",
           [](const DeviceTensor& t) {
             return nb::make_tuple(t.device().is_cpu() ? 1 : 2, t.device().index);
           })
      .def(
          "__dlpack__",
          [](const DeviceTensor& t, nb::object, nb::object max_version, nb::object, nb::object) {
            return to_capsule(t, std::move(max_version));
          },
          nb::kw_only(), nb::arg("stream") = nb::none(), nb::arg("max_version") = nb::none(),
          nb::arg("dl_device") = nb::none(), nb::arg("copy") = nb::none())
      .def("__array__", &to_array, nb::arg("dtype") = nb::none(), nb::arg("copy") = nb::none())
      .def("__repr__", &repr);
}

}  // namespace cleave::python
