#include "backend/cuda/library_sort.h"

#include <fmt/format.h>

#include <utility>

#include "backend/cuda/device/arguments.h"
#include "run/run_context.h"

namespace cleave::cuda {
namespace {

constexpr int64_t sort_chunk = 512;  // device/sort.h

class Sort final : public LibraryFunction {
 public:
  explicit Sort(const SortSpec& s)
      : spec_(s), arguments_{s.outer, s.length, s.inner, s.count, s.is_descending ? 1 : 0} {}
  static Result<LibraryFunctionPtr> make(const SortSpec& s, const LibraryDevice& device) {
    auto made = std::make_shared<Sort>(s);
    if (s.outer * s.inner * s.count == 0) return LibraryFunctionPtr(std::move(made));
    const auto type = name_of(s.dtype == DType::boolean ? DType::u8 : s.dtype);
    const auto kernel = [&](std::string function, std::vector<std::string> parameters) {
      return device.kernel({"sort.h", std::move(function), std::move(parameters)});
    };
    CLEAVE_TRY(made->read_, kernel(fmt::format("sort_read<{}>", type),
                                   {"SortArguments", "const void*", "Key*", "unsigned*"}));
    CLEAVE_TRY(made->merge_, kernel("sort_merge", {"SortArguments", "Int", "const Key*",
                                                   "const unsigned*", "Key*", "unsigned*"}));
    CLEAVE_TRY(made->write_,
               kernel(fmt::format("sort_write<{}>", type),
                      {"SortArguments", "const void*", "const unsigned*", "void*", "Int*"}));
    return LibraryFunctionPtr(std::move(made));
  }

  // Keys and indices, twice.
  int64_t scratch_bytes() const override { return read_ ? 2 * (key_bytes() + index_bytes()) : 0; }
  void call(void* const* at, void* scratch, const RunContext& context) const override {
    if (!read_) return;
    char *keys = static_cast<char*>(scratch), *other_keys = keys + key_bytes();
    char *indices = other_keys + key_bytes(), *other_indices = indices + index_bytes();
    void* self = at[SortOperand::self];
    const int64_t lines = spec_.outer * spec_.inner;
    launch(*read_, lines * ((spec_.length + sort_chunk - 1) / sort_chunk), context.queue,
           arguments_, self, keys, indices);
    for (device::Int run = sort_chunk; run < spec_.length; run *= 2) {
      launch(*merge_, blocks_for(elements()), context.queue, arguments_, run, keys, indices,
             other_keys, other_indices);
      std::swap(keys, other_keys);
      std::swap(indices, other_indices);
    }
    launch(*write_, blocks_for(lines * spec_.count), context.queue, arguments_, self, indices,
           at[SortOperand::values], at[SortOperand::indices]);
  }

 private:
  int64_t elements() const { return spec_.outer * spec_.length * spec_.inner; }
  int64_t key_bytes() const { return (elements() * 8 + 63) / 64 * 64; }
  int64_t index_bytes() const { return (elements() * 4 + 63) / 64 * 64; }

  const SortSpec spec_;
  const device::SortArguments arguments_;
  DeviceKernelPtr read_, merge_, write_;
};

}  // namespace

Result<LibraryFunctionPtr> make_sort(const SortSpec& s, const LibraryDevicePtr& device) {
  if (s.outer < 0 || s.length < 0 || s.inner < 0 || s.count < 0 || s.count > s.length)
    return bug("sort: {} of {} lines of {}", s.count, s.outer * s.inner, s.length);
  if (s.length > int64_t{1} << 32)
    return unsupported("sort: a line of {} elements, expected at most 2^32", s.length);
  if (s.dtype == DType::c64) return unsupported("sort: {} has no order", name_of(s.dtype));
  return Sort::make(s, *device);
}

}  // namespace cleave::cuda
