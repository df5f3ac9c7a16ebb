// The choice, and x86-64.
#include "runtime/elf_machine.h"

#include <elf.h>
#include <string.h>

#include <array>

namespace cleave::runtime {

bool elf_write_word(std::byte* at, uint64_t, uint64_t value) {
  memcpy(at, &value, 8);
  return true;
}
bool elf_write_distance(std::byte* at, uint64_t here, uint64_t value) {
  value -= here;
  memcpy(at, &value, 8);
  return true;
}

namespace {

bool write_near(std::byte* at, uint64_t here, uint64_t value) {
  const auto distance = static_cast<int64_t>(value - here);
  const auto near = static_cast<int32_t>(distance);
  memcpy(at, &near, 4);
  return near == distance;
}

std::optional<ElfWrite> relocation(uint64_t type) {
  using Of = ElfWrite::Of;
  switch (type) {
    case R_X86_64_64: return ElfWrite{Of::address, 8, elf_write_word};
    case R_X86_64_PC64: return ElfWrite{Of::address, 8, elf_write_distance};
    case R_X86_64_PC32:
    case R_X86_64_PLT32: return ElfWrite{Of::call, 4, write_near};
    case R_X86_64_GOTPCREL:
    case R_X86_64_GOTPCRELX:
    case R_X86_64_REX_GOTPCRELX: return ElfWrite{Of::pointer, 4, write_near};
    default: return {};
  }
}

bool write_jump(std::byte* at, uint64_t here, uint64_t pointer) {
  constexpr std::array<unsigned char, 2> jump{0xff, 0x25};  // jmp *[rip + distance]
  memcpy(at, jump.data(), jump.size());
  return write_near(at + 2, here + 6, pointer);
}

}  // namespace

constinit const ElfMachine elf_x86_64 = {"x86-64", EM_X86_64, relocation, write_jump};

const ElfMachine& elf_machine() {
#if defined(__aarch64__)
  return elf_aarch64;
#else
  return elf_x86_64;
#endif
}

}  // namespace cleave::runtime
