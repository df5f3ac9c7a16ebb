// Which threads accessed each element of memory since they last waited for each other.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>

namespace cleave::simt {

struct ThreadPlace {
  int64_t block = 0;
  int32_t team = 0, thread = 0;
  int64_t waits = 0;  // of the team, so far
};

class Shadow {
 public:
  // Of the element at this address; returns the other thread, if there is a race.
  std::optional<ThreadPlace> read(const void* address, const ThreadPlace& by);
  std::optional<ThreadPlace> write(const void* address, const ThreadPlace& by);

 private:
  struct Element {
    bool was_written = false, was_read = false;
    ThreadPlace writer, reader;  // of readers the last, and
    ThreadPlace other;           // another one since the team waited
    bool has_other = false;
  };
  std::unordered_map<const void*, Element> elements_;
};

}  // namespace cleave::simt
