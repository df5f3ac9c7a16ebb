// The functions that a library of tensors offers to C, DLPack 1.3: a capsule
// "dlpack_exchange_api" at its tensors' type. A call takes about 20 ns, __dlpack__ microseconds.
// Source: github.com/dmlc/dlpack, dlpack.h, DLPackExchangeAPI.
#pragma once
#include "cleave/dlpack.h"

namespace cleave::python {

struct ExchangeApi {
  dlpack::Version version;
  ExchangeApi* previous;  // of an older version, or null
  void* allocate;
  int (*managed_from_object)(void* object, dlpack::ManagedTensorVersioned** out);
  void* object_from_managed;
  int (*view_of_object)(void* object, dlpack::Tensor* out);  // memory and sizes stay the object's
  void* current_stream;
};

}  // namespace cleave::python
