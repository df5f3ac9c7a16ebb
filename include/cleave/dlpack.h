// Tensors of other libraries, and cleave's for them, without a copy: DLPack.
//
//   // From a library that hands over a DLManagedTensorVersioned* (or a DLManagedTensor*):
//   DeviceTensor x = from_dlpack(reinterpret_cast<dlpack::ManagedTensorVersioned*>(theirs));
//   step.run({x, y});
//   step.store().at("0.weight").bind(from_dlpack(weight), Contents::of_memory);
//
//   // For one that takes it, which calls its deleter when it is done with it:
//   dlpack::ManagedTensorVersioned* out = to_dlpack(predict.output_there(0));
//
// The structs have the layout of those of DLPack 1.x (github.com/dmlc/dlpack, dlpack.h), whose
// header isn't needed; pointers of its types are cast. A library in C or Python passes the same
// structs, in Python within a capsule named "dltensor_versioned" or "dltensor".
//
//   device   kDLCPU and kDLCUDAHost (1, 3): cpu    kDLCUDA (2): cuda:N
//   dtype    float 64 32 16, bfloat 16, int 64 32 16 8, uint 8, bool 8, complex 64; one lane
//   strides  in elements, none: row-major; 0 repeats
//   flags    read only: DeviceTensor::is_const
//
// The structs are looked at as whatever a stranger wrote: no size or address in them is used before
// it was checked. What their memory holds can't be.
#pragma once
#include <cstdint>

#include "cleave/device_tensor.h"

namespace cleave {

namespace dlpack {

struct Version {
  uint32_t major, minor;
};
struct DeviceId {
  int32_t type, id;
};
struct DataType {
  uint8_t code, bits;
  uint16_t lanes;
};
struct Tensor {
  void* data;
  DeviceId device;
  int32_t ndim;
  DataType dtype;
  int64_t* shape;
  int64_t* strides;
  uint64_t byte_offset;
};
struct ManagedTensor {
  Tensor tensor;
  void* manager_context;
  void (*deleter)(ManagedTensor* self);
};
constexpr uint64_t read_only = 1;  // of flags
struct ManagedTensorVersioned {
  Version version;
  void* manager_context;
  void (*deleter)(ManagedTensorVersioned* self);
  uint64_t flags;
  Tensor tensor;
};

}  // namespace dlpack

// Takes the tensor over: its deleter is called when the last handle is gone, on the thread that
// drops it. After an error it is still the caller's. Errors (user), naming what is wrong: a null
// struct, shape or data; a number of dims outside of 0 to 64; a size or stride below 0; more than
// 2^60 bytes; an address that doesn't suit the elements; another major version than 1.
// Unsupported: another device or dtype, by its number.
CLEAVE_API DeviceTensor from_dlpack(dlpack::ManagedTensorVersioned* tensor);
CLEAVE_API DeviceTensor from_dlpack(dlpack::ManagedTensor* tensor);

// A struct that keeps the tensor until its deleter is called, by whoever was given it. Its version
// is 1.1. The unversioned one can't say that it is read only: error (user) for a const tensor.
CLEAVE_API dlpack::ManagedTensorVersioned* to_dlpack(const DeviceTensor& tensor);
CLEAVE_API dlpack::ManagedTensor* to_dlpack_unversioned(const DeviceTensor& tensor);

}  // namespace cleave
