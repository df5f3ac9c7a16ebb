// What differs between architectures when an object file is loaded (elf_object.h): how an address
// is written into its code, and what a jump to a far address is.
//
//   x86-64    call, lea, mov    a distance of 32 bits behind the instruction's begin
//   aarch64   bl, b             a distance of 28 bits, in words
//             adrp + add, ldr   the page, 4 KiB each, and what is left within it
//
// Source: the psABIs, "ELF for the Arm 64-bit Architecture" (AAELF64) section 5.7.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>

namespace cleave::runtime {

// What a relocation writes: `value` is that of its symbol and addend.
struct ElfWrite {
  enum class Of : uint8_t {
    address,  // the symbol's
    call,     // the same, or that of a jump to it, where it is outside of the file
    pointer   // where the symbol's address is written down
  };
  Of of = Of::address;
  uint64_t bytes = 4;  // that it changes
  // Returns false if the value is too far away or lies at an odd address. `here` is the address of
  // the bytes `at`.
  bool (*write)(std::byte* at, uint64_t here, uint64_t value) = nullptr;
};

// Of eight bytes, on every machine.
bool elf_write_word(std::byte* at, uint64_t here, uint64_t value);
bool elf_write_distance(std::byte* at, uint64_t here, uint64_t value);

struct ElfMachine {
  const char* name;
  uint16_t number;  // EM_
  // nullopt: of a kind that C text without thread-local variables doesn't need.
  std::optional<ElfWrite> (*relocation)(uint64_t type);
  // A jump to the address that is written down at `pointer`, in elf_jump_bytes. Returns false if
  // that is too far away.
  bool (*write_jump)(std::byte* at, uint64_t here, uint64_t pointer);
};
constexpr uint64_t elf_jump_bytes = 16;

extern const ElfMachine elf_x86_64, elf_aarch64;
// That of this process.
const ElfMachine& elf_machine();

}  // namespace cleave::runtime
