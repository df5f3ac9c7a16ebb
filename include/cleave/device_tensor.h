// A tensor in memory that nobody copies: the host's or a device's, a library's or a program's.
//
//   DeviceTensor x = from_dlpack(managed);                     // cleave/dlpack.h
//   DeviceTensor y = DeviceTensor::borrow(Device::cuda(0), DType::f32, {64, 1}, {}, pointer);
//   step.run({x, y});                                          // read where they lie
//   DeviceTensor p = predict.output_there(0);                  // on the device, until the next run
//
// It is a handle: copies are the same tensor, and whoever holds one keeps its memory. A program
// takes tensors of its own device and of the host. What lies on a device is ready when it is handed
// over: whoever wrote it there has waited for that; and it isn't written before the run that reads
// it is over, which what reads the run's loss or outputs waits for.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "cleave/device.h"
#include "cleave/host_tensor.h"

namespace cleave {

class CLEAVE_API DeviceTensor {
 public:
  DeviceTensor() : DeviceTensor(HostTensor()) {}
  // The host tensor's memory, which it takes over.
  explicit DeviceTensor(HostTensor tensor);
  // Memory of at least extent_bytes() that the caller keeps alive, or that `keep` owns; without
  // strides it is row-major. Errors: HostTensor::borrow's.
  static DeviceTensor borrow(Device device, DType dtype, std::vector<int64_t> shape,
                             std::vector<int64_t> strides, void* data,
                             std::shared_ptr<void> keep = nullptr);

  Device device() const { return device_; }
  DType dtype() const { return tensor_->dtype(); }
  const std::vector<int64_t>& shape() const { return tensor_->shape(); }
  std::vector<int64_t> strides() const { return tensor_->strides(); }  // in elements
  int64_t extent_bytes() const { return tensor_->extent_bytes(); }
  std::string type_text() const;  // "f32[2,3]@cuda:0"
  // The first element's address.
  void* data() const { return tensor_->data(); }
  // Nothing may write it: a program takes it for inputs that it only reads.
  bool is_const() const { return is_const_; }
  // The same memory, which nothing may write by this handle.
  DeviceTensor as_const() const;
  // The same memory as a tensor of the host, which keeps it. Errors (user): it is a device's; it is
  // const.
  HostTensor host() const;

 private:
  friend class InputRef;
  std::shared_ptr<HostTensor> tensor_;  // on a device its address alone
  Device device_;
  bool is_const_ = false;
};

}  // namespace cleave
