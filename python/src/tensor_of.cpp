// Tensors of Python as cleave's: by the exchange functions of their type, else by __dlpack__.
#include <memory>
#include <unordered_map>

#include "bindings.h"
#include "cleave/dlpack.h"
#include "exchange_api.h"

namespace cleave::python {
namespace {

constexpr const char* versioned = "dltensor_versioned";
constexpr const char* unversioned = "dltensor";

// Of the object's type; null if it offers none of version 1. Types that were asked before are
// found by their address and kept alive.
const ExchangeApi* exchange_of(nb::handle object) {
  static std::unordered_map<PyObject*, const ExchangeApi*> known;  // guarded by the GIL
  nb::handle type = object.type();
  if (const auto at = known.find(type.ptr()); at != known.end()) return at->second;
  const ExchangeApi* api = nullptr;
  if (nb::hasattr(type, "__dlpack_c_exchange_api__")) {
    const nb::object capsule = type.attr("__dlpack_c_exchange_api__");
    api =
        static_cast<const ExchangeApi*>(PyCapsule_GetPointer(capsule.ptr(), "dlpack_exchange_api"));
    if (api == nullptr) PyErr_Clear();
    while (api != nullptr && api->version.major != 1) api = api->previous;
  }
  known.emplace(type.inc_ref().ptr(), api);
  return api;
}

// With from_dlpack's checks, of a struct that owns nothing but itself.
DeviceTensor view_of(nb::handle object, const ExchangeApi& api) {
  auto lent = std::make_unique<dlpack::ManagedTensorVersioned>();
  lent->version = {1, 0};
  if (api.view_of_object(object.ptr(), &lent->tensor) != 0) throw nb::python_error();
  lent->deleter = [](dlpack::ManagedTensorVersioned* self) { delete self; };
  DeviceTensor out = from_dlpack(lent.get());
  (void)lent.release();  // it is the tensor's now
  return out;
}

DeviceTensor managed_of(nb::handle object, const ExchangeApi& api) {
  dlpack::ManagedTensorVersioned* managed = nullptr;
  if (api.managed_from_object(object.ptr(), &managed) != 0) throw nb::python_error();
  try {
    return from_dlpack(managed);
  } catch (...) {
    managed->deleter(managed);
    throw;
  }
}

nb::object capsule_of(nb::handle object) {
  try {
    return object.attr("__dlpack__")(nb::arg("max_version") = nb::make_tuple(1, 1));
  } catch (nb::python_error& e) {
    if (!e.matches(PyExc_TypeError)) throw;  // one of an older version takes no such argument
  }
  return object.attr("__dlpack__")();
}

// The capsule is empty afterwards: its name says so to whoever else looks at it.
DeviceTensor from_capsule(nb::handle capsule) {
  if (PyCapsule_IsValid(capsule.ptr(), versioned)) {
    auto* managed = static_cast<dlpack::ManagedTensorVersioned*>(
        PyCapsule_GetPointer(capsule.ptr(), versioned));
    DeviceTensor out = from_dlpack(managed);
    PyCapsule_SetName(capsule.ptr(), "used_dltensor_versioned");
    return out;
  }
  auto* managed =
      static_cast<dlpack::ManagedTensor*>(PyCapsule_GetPointer(capsule.ptr(), unversioned));
  if (managed == nullptr) throw nb::python_error();
  DeviceTensor out = from_dlpack(managed);
  PyCapsule_SetName(capsule.ptr(), "used_dltensor");
  return out;
}

template <class T>
DeviceTensor scalar(T value, DType dtype) {
  HostTensor t(dtype, {});
  *static_cast<T*>(t.data()) = value;
  return DeviceTensor(std::move(t));
}

}  // namespace

DeviceTensor tensor_of(nb::handle object, Kept kept) {
  if (const ExchangeApi* api = exchange_of(object))
    return kept == Kept::by_caller ? view_of(object, *api) : managed_of(object, *api);
  if (PyBool_Check(object.ptr())) return scalar(nb::cast<bool>(object), DType::boolean);
  if (PyLong_Check(object.ptr())) return scalar(nb::cast<int64_t>(object), DType::i64);
  if (PyFloat_Check(object.ptr())) return scalar(nb::cast<double>(object), DType::f64);
  if (nb::hasattr(object, "__dlpack__")) return from_capsule(capsule_of(object));
  PyErr_Format(PyExc_TypeError, "%R is no tensor: expected an object with __dlpack__, or a number",
               object.type().ptr());
  throw nb::python_error();
}

}  // namespace cleave::python
