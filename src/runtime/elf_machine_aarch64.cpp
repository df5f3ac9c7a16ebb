// Addresses in instructions of aarch64: each field is replaced, whatever was in it.
//
//   b, bl      distance / 4                              bits 0..25
//   b.cond     distance / 4                              bits 5..23
//   adr, adrp  distance in bytes, in pages               the lowest two bits in 29..30, then 5..23
//   add, ldr   what is left within the page, / size      bits 10..21
#include <elf.h>
#include <string.h>

#include <array>

#include "runtime/elf_machine.h"

namespace cleave::runtime {
namespace {

void put_field(std::byte* at, uint32_t mask, uint32_t bits) {
  uint32_t instruction = 0;
  memcpy(&instruction, at, 4);
  instruction = (instruction & ~mask) | (bits & mask);
  memcpy(at, &instruction, 4);
}

bool fits(int64_t value, int bits) {
  return value >= -(int64_t{1} << (bits - 1)) && value < int64_t{1} << (bits - 1);
}

bool write_near(std::byte* at, uint64_t here, uint64_t value) {
  const auto distance = static_cast<int64_t>(value - here);
  memcpy(at, &distance, 4);
  return fits(distance, 32);
}

bool write_branch(std::byte* at, uint64_t here, uint64_t value) {
  const auto distance = static_cast<int64_t>(value - here);
  put_field(at, 0x03ffffffu, static_cast<uint32_t>(distance >> 2));
  return fits(distance, 28) && distance % 4 == 0;
}
bool write_conditional(std::byte* at, uint64_t here, uint64_t value) {
  const auto distance = static_cast<int64_t>(value - here);
  put_field(at, 0x00ffffe0u, static_cast<uint32_t>(distance >> 2) << 5);
  return fits(distance, 21) && distance % 4 == 0;
}

bool write_low_and_high(std::byte* at, int64_t number) {
  const auto bits = static_cast<uint32_t>(number);
  put_field(at, 0x60ffffe0u, (bits & 3u) << 29 | (bits >> 2 & 0x7ffffu) << 5);
  return fits(number, 21);
}
bool write_address(std::byte* at, uint64_t here, uint64_t value) {
  return write_low_and_high(at, static_cast<int64_t>(value - here));
}
bool write_page(std::byte* at, uint64_t here, uint64_t value) {
  return write_low_and_high(at, static_cast<int64_t>((value >> 12) - (here >> 12)));
}
// What is left within the page, in units of 1 << shift bytes.
template <int shift>
bool write_rest(std::byte* at, uint64_t, uint64_t value) {
  const uint32_t rest = value & 0xfffu;
  put_field(at, 0x003ffc00u, rest >> shift << 10);
  return rest % (1u << shift) == 0;
}

std::optional<ElfWrite> relocation(uint64_t type) {
  using Of = ElfWrite::Of;
  switch (type) {
    case R_AARCH64_ABS64: return ElfWrite{Of::address, 8, elf_write_word};
    case R_AARCH64_PREL64: return ElfWrite{Of::address, 8, elf_write_distance};
    case R_AARCH64_PREL32: return ElfWrite{Of::address, 4, write_near};
    case R_AARCH64_CALL26:
    case R_AARCH64_JUMP26: return ElfWrite{Of::call, 4, write_branch};
    case R_AARCH64_CONDBR19: return ElfWrite{Of::call, 4, write_conditional};
    case R_AARCH64_ADR_PREL_LO21: return ElfWrite{Of::address, 4, write_address};
    case R_AARCH64_ADR_PREL_PG_HI21: return ElfWrite{Of::address, 4, write_page};
    case R_AARCH64_ADD_ABS_LO12_NC:
    case R_AARCH64_LDST8_ABS_LO12_NC: return ElfWrite{Of::address, 4, write_rest<0>};
    case R_AARCH64_LDST16_ABS_LO12_NC: return ElfWrite{Of::address, 4, write_rest<1>};
    case R_AARCH64_LDST32_ABS_LO12_NC: return ElfWrite{Of::address, 4, write_rest<2>};
    case R_AARCH64_LDST64_ABS_LO12_NC: return ElfWrite{Of::address, 4, write_rest<3>};
    case R_AARCH64_LDST128_ABS_LO12_NC: return ElfWrite{Of::address, 4, write_rest<4>};
    case R_AARCH64_ADR_GOT_PAGE: return ElfWrite{Of::pointer, 4, write_page};
    case R_AARCH64_LD64_GOT_LO12_NC: return ElfWrite{Of::pointer, 4, write_rest<3>};
    default: return {};
  }
}

// adrp x16, pointer; ldr x16, [x16, rest]; br x16
bool write_jump(std::byte* at, uint64_t here, uint64_t pointer) {
  constexpr std::array<uint32_t, 3> jump{0x90000010u, 0xf9400210u, 0xd61f0200u};
  memcpy(at, jump.data(), sizeof jump);
  return write_page(at, here, pointer) && write_rest<3>(at + 4, here + 4, pointer);
}

}  // namespace

constinit const ElfMachine elf_aarch64 = {"aarch64", EM_AARCH64, relocation, write_jump};

}  // namespace cleave::runtime
