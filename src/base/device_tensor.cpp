#include "cleave/device_tensor.h"

#include "base/result.h"

namespace cleave {

DeviceTensor::DeviceTensor(HostTensor tensor)
    : tensor_(std::make_shared<HostTensor>(std::move(tensor))) {}

DeviceTensor DeviceTensor::borrow(Device device, DType dtype, std::vector<int64_t> shape,
                                  std::vector<int64_t> strides, void* data,
                                  std::shared_ptr<void> keep) {
  DeviceTensor out(strides.empty() ? HostTensor::borrow(dtype, std::move(shape), data, keep)
                                   : HostTensor::borrow(dtype, std::move(shape), std::move(strides),
                                                        data, keep));
  out.device_ = device;
  return out;
}

std::string DeviceTensor::type_text() const {
  return tensor_->type_text() + (device_.is_cpu() ? "" : "@" + device_.text());
}

DeviceTensor DeviceTensor::as_const() const {
  DeviceTensor out = *this;
  out.is_const_ = true;
  return out;
}

HostTensor DeviceTensor::host() const {
  if (!device_.is_cpu())
    throw_failure(
        user_error("DeviceTensor: host: {} lies on {}, expected cpu", type_text(), device_.text()));
  if (is_const_)
    throw_failure(user_error("DeviceTensor: host: {} is const, and a HostTensor may be written",
                             type_text()));
  return HostTensor::borrow(dtype(), shape(), strides(), data(), tensor_);
}

}  // namespace cleave
