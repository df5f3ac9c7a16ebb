#include "cleave/dlpack.h"

#include <cstddef>
#include <limits>

#include "base/element_address.h"
#include "base/layout.h"
#include "base/result.h"

namespace cleave {
namespace {

using dlpack::DataType, dlpack::DeviceId, dlpack::ManagedTensor, dlpack::ManagedTensorVersioned;
using Described = dlpack::Tensor;

// The layout of DLPack 1.x on machines of 64 bits.
static_assert(sizeof(Described) == 48 && offsetof(Described, ndim) == 16 &&
              offsetof(Described, dtype) == 20 && offsetof(Described, shape) == 24 &&
              offsetof(Described, byte_offset) == 40);
static_assert(sizeof(ManagedTensor) == 64 && offsetof(ManagedTensor, deleter) == 56);
static_assert(sizeof(ManagedTensorVersioned) == 80 &&
              offsetof(ManagedTensorVersioned, flags) == 24 &&
              offsetof(ManagedTensorVersioned, tensor) == 32);

constexpr dlpack::Version own_version{1, 1};
constexpr int32_t type_cpu = 1, type_cuda = 2, type_cuda_host = 3, most_dims = 64;
constexpr int64_t most_bytes = int64_t{1} << 60;

struct DTypeCode {
  DType dtype;
  DataType code;
};
constexpr DTypeCode dtype_codes[] = {
    {DType::f64, {2, 64, 1}},    {DType::f32, {2, 32, 1}}, {DType::f16, {2, 16, 1}},
    {DType::bf16, {4, 16, 1}},   {DType::i64, {0, 64, 1}}, {DType::i32, {0, 32, 1}},
    {DType::i16, {0, 16, 1}},    {DType::i8, {0, 8, 1}},   {DType::u8, {1, 8, 1}},
    {DType::boolean, {6, 8, 1}}, {DType::c64, {5, 64, 1}}};

Result<DType> dtype_of(const DataType& t) {
  for (const auto& [dtype, code] : dtype_codes)
    if (code.code == t.code && code.bits == t.bits && code.lanes == t.lanes) return dtype;
  return unsupported("from_dlpack: dtype: code {}, {} bits, {} lanes is no dtype of cleave", t.code,
                     t.bits, t.lanes);
}

Result<Device> device_of(const DeviceId& d) {
  if (d.type == type_cpu || d.type == type_cuda_host) return Device::cpu();
  if (d.type != type_cuda)
    return unsupported("from_dlpack: device: type {}, expected 1 (cpu), 2 (cuda) or 3 (cuda host)",
                       d.type);
  if (d.id < 0 || d.id > std::numeric_limits<int16_t>::max())
    return user_error("from_dlpack: device: cuda:{}, expected 0 to 32767", d.id);
  return Device::cuda(static_cast<int16_t>(d.id));
}

struct Place {
  std::vector<int64_t> shape, strides;
  int64_t extent_bytes = 0;
};

Status check_sizes(const Place& l, DType dtype) {
  for (size_t d = 0; d < l.shape.size(); ++d)
    if (l.shape[d] < 0)
      return user_error("from_dlpack: shape: dim {} is {}, expected 0 or more", d, l.shape[d]);
  int64_t bytes = size_of(dtype);  // without dims of 0, as of any tensor here
  for (const int64_t size : l.shape)
    if (size != 0 && (__builtin_mul_overflow(bytes, size, &bytes) || bytes > most_bytes))
      return user_error("from_dlpack: shape: [{}] of {} is more than 2^60 bytes",
                        fmt::join(l.shape, ","), name_of(dtype));
  for (size_t d = 0; d < l.strides.size(); ++d)
    if (l.strides[d] < 0)
      return user_error("from_dlpack: strides: dim {} has {}, expected 0 or more", d, l.strides[d]);
  return {};
}

Result<Place> layout_of(const Described& t, DType dtype) {
  if (t.ndim < 0 || t.ndim > most_dims)
    return user_error("from_dlpack: ndim is {}, expected 0 to {}", t.ndim, most_dims);
  if (t.ndim > 0 && t.shape == nullptr)
    return user_error("from_dlpack: shape is null for {} dims", t.ndim);
  Place out;
  out.shape.assign(t.shape, t.shape + t.ndim);
  if (t.strides != nullptr) out.strides.assign(t.strides, t.strides + t.ndim);
  CLEAVE_CHECK(check_sizes(out, dtype));
  const int64_t extent =
      out.strides.empty() ? numel_of(out.shape) : extent_of(out.shape, out.strides);
  if (extent > most_bytes / size_of(dtype))
    return user_error(
        "from_dlpack: strides: [{}] by {{{}}} of {} reaches over more than 2^60 bytes",
        fmt::join(out.shape, ","), fmt::join(out.strides, ","), name_of(dtype));
  out.extent_bytes = extent * size_of(dtype);
  return out;
}

// The first element's address.
Result<void*> address_of(const Described& t, DType dtype, int64_t extent_bytes) {
  uintptr_t at = reinterpret_cast<uintptr_t>(t.data), end = 0;
  if (extent_bytes == 0) return t.data;
  if (t.data == nullptr) return user_error("from_dlpack: data is null for {} bytes", extent_bytes);
  if (__builtin_add_overflow(at, t.byte_offset, &at) ||
      __builtin_add_overflow(at, static_cast<uintptr_t>(extent_bytes), &end))
    return user_error("from_dlpack: byte_offset: {} and {} bytes are beyond the last address",
                      t.byte_offset, extent_bytes);
  void* const first = reinterpret_cast<void*>(at);
  if (!is_aligned(first, dtype))
    return user_error(
        "from_dlpack: data: the first element's address is no multiple of the {} "
        "bytes of {}",
        alignment_of(dtype), name_of(dtype));
  return first;
}

template <class Managed>
Result<DeviceTensor> taken(Managed* managed, bool is_const) {
  const Described& t = managed->tensor;
  CLEAVE_TRY(const DType dtype, dtype_of(t.dtype));
  CLEAVE_TRY(const Device device, device_of(t.device));
  CLEAVE_TRY(Place layout, layout_of(t, dtype));
  CLEAVE_TRY(void* const data, address_of(t, dtype, layout.extent_bytes));
  // Whatever is refused is refused before it is owned.
  DeviceTensor out = DeviceTensor::borrow(device, dtype, layout.shape, layout.strides, data,
                                          std::make_shared<char>());
  std::shared_ptr<void> keep(managed, [](Managed* m) {
    if (m->deleter != nullptr) m->deleter(m);
  });
  out = DeviceTensor::borrow(device, dtype, std::move(layout.shape), std::move(layout.strides),
                             data, std::move(keep));
  return is_const ? out.as_const() : out;
}

// What a struct that is given away refers to.
template <class Managed>
struct Given {
  DeviceTensor tensor;
  std::vector<int64_t> shape, strides;
  Managed managed = {};
};

template <class Managed>
Managed* given(const DeviceTensor& tensor) {
  auto* const g = new Given<Managed>{tensor, tensor.shape(), tensor.strides()};
  Described& t = g->managed.tensor;
  const Device device = tensor.device();
  t.data = tensor.data();
  t.device = device.is_cpu() ? DeviceId{type_cpu, 0} : DeviceId{type_cuda, device.index};
  t.ndim = static_cast<int32_t>(g->shape.size());
  for (const auto& [dtype, code] : dtype_codes)
    if (dtype == tensor.dtype()) t.dtype = code;
  t.shape = g->shape.data();
  t.strides = g->strides.data();
  g->managed.manager_context = g;
  g->managed.deleter = [](Managed* m) { delete static_cast<Given<Managed>*>(m->manager_context); };
  return &g->managed;
}

}  // namespace

DeviceTensor from_dlpack(ManagedTensorVersioned* tensor) {
  if (tensor == nullptr) throw_failure(user_error("from_dlpack: the tensor is null"));
  if (tensor->version.major != own_version.major)
    throw_failure(user_error("from_dlpack: version {}.{}, expected {}.x", tensor->version.major,
                             tensor->version.minor, own_version.major));
  return value_or_throw(taken(tensor, (tensor->flags & dlpack::read_only) != 0));
}

DeviceTensor from_dlpack(ManagedTensor* tensor) {
  if (tensor == nullptr) throw_failure(user_error("from_dlpack: the tensor is null"));
  return value_or_throw(taken(tensor, false));
}

ManagedTensorVersioned* to_dlpack(const DeviceTensor& tensor) {
  auto* const out = given<ManagedTensorVersioned>(tensor);
  out->version = own_version;
  out->flags = tensor.is_const() ? dlpack::read_only : 0;
  return out;
}

ManagedTensor* to_dlpack_unversioned(const DeviceTensor& tensor) {
  if (tensor.is_const())
    throw_failure(
        user_error("to_dlpack_unversioned: {} is const, which DLPack says from version 1 "
                   "on: to_dlpack",
                   tensor.type_text()));
  return given<ManagedTensor>(tensor);
}

}  // namespace cleave
