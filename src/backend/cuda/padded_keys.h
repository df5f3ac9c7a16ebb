// Keys and values of a gradient of attention with whole tiles of rows, in the workspace, and the
// gradients of both: up to 9.15 cuDNN reads past keys that don't fill a tile. What is added is 0,
// and closed by a row of numbers that are added to the scores.
#pragma once
#include "backend/cuda/library_device.h"
#include "library/attention_spec.h"

namespace cleave::cuda {

class PaddedKeys {
 public:
  static constexpr int64_t tile = 128;
  static bool are_whole(const AttentionSpec& s) { return s.columns % tile == 0; }
  // 0 where they are whole.
  static int64_t scratch_bytes(const AttentionSpec& s);
  static Result<PaddedKeys> make(const AttentionBackwardSpec& s, const LibraryDevice& device);

  int64_t bytes() const { return scratch_bytes(spec_.forward); }
  // The same gradient of the keys that are padded: dense keys, values and gradients of both.
  AttentionBackwardSpec padded() const;

  // Where these, and the row that closes what is added, are in the workspace.
  struct Pointers {
    void *key, *value, *dkey, *dvalue, *open;
  };
  Pointers pointers(void* workspace) const;
  void pad(void* const* operands, void* workspace, void* queue) const;
  void unpad(void* const* operands, void* workspace, void* queue) const;

 private:
  PaddedKeys(const AttentionBackwardSpec& s, DeviceKernelPtr pad, DeviceKernelPtr unpad)
      : spec_(s), pad_(std::move(pad)), unpad_(std::move(unpad)) {}

  AttentionBackwardSpec spec_;
  DeviceKernelPtr pad_, unpad_;
};

}  // namespace cleave::cuda
