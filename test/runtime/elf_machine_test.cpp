// Addresses in instructions, as an assembler writes them: of both architectures, on either.
// tests: elf_machine_aarch64.cpp
#include "runtime/elf_machine.h"

#include <elf.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string_view>

#include "base/target.h"

namespace cleave::runtime {
namespace {

struct Written {
  bool fits;
  uint32_t instruction;
  bool operator==(const Written&) const = default;
};

Written written(const ElfMachine& machine, uint64_t type, uint32_t instruction, uint64_t here,
                uint64_t value) {
  const auto form = machine.relocation(type);
  if (!form) return {};
  const bool fits = form->write(reinterpret_cast<std::byte*>(&instruction), here, value);
  return {fits, instruction};
}

TEST(ElfMachine, branches_of_aarch64) {
  const auto bl = [](uint64_t value) {
    return written(elf_aarch64, R_AARCH64_CALL26, 0x94000000, 0x10000000, value);
  };
  EXPECT_EQ(bl(0x10000008), Written(true, 0x94000002));
  EXPECT_EQ(bl(0x0ffffff8), Written(true, 0x97fffffe));
  EXPECT_EQ(bl(0x10000000 + (1 << 27) - 4), Written(true, 0x95ffffff));
  EXPECT_FALSE(bl(0x10000000 + (1 << 27)).fits);
  EXPECT_FALSE(bl(0x10000002).fits);
  EXPECT_EQ(written(elf_aarch64, R_AARCH64_CONDBR19, 0x54000000, 64, 80),
            Written(true, 0x54000080));
  EXPECT_FALSE(written(elf_aarch64, R_AARCH64_CONDBR19, 0x54000000, 0, 1 << 20).fits);
}

TEST(ElfMachine, addresses_of_aarch64) {
  const auto adrp = [](uint64_t value) {
    return written(elf_aarch64, R_AARCH64_ADR_PREL_PG_HI21, 0x90000000, 0x400123, value);
  };
  EXPECT_EQ(adrp(0x403abc), Written(true, 0xf0000000));
  EXPECT_EQ(adrp(0x5abc00), Written(true, 0xf0000d40));
  EXPECT_EQ(adrp(0x3ff000), Written(true, 0xf0ffffe0));
  EXPECT_FALSE(adrp(uint64_t{1} << 33).fits);
  EXPECT_EQ(written(elf_aarch64, R_AARCH64_ADR_PREL_LO21, 0x10000000, 8, 13),
            Written(true, 0x30000020));
  const auto rest = [](uint64_t type, uint32_t instruction, uint64_t value) {
    return written(elf_aarch64, type, instruction, 0, value);
  };
  EXPECT_EQ(rest(R_AARCH64_ADD_ABS_LO12_NC, 0x91000000, 0x7abc), Written(true, 0x912af000));
  EXPECT_EQ(rest(R_AARCH64_LDST64_ABS_LO12_NC, 0xf9400000, 0x7ab8), Written(true, 0xf9455c00));
  EXPECT_EQ(rest(R_AARCH64_LDST128_ABS_LO12_NC, 0x3dc00000, 0x7ab0), Written(true, 0x3dc2ac00));
  EXPECT_FALSE(rest(R_AARCH64_LDST64_ABS_LO12_NC, 0xf9400000, 0x7abc).fits);
}

TEST(ElfMachine, distances_of_x86_64) {
  EXPECT_EQ(written(elf_x86_64, R_X86_64_PLT32, 0, 0x1000, 0x0ffc), Written(true, 0xfffffffc));
  EXPECT_FALSE(written(elf_x86_64, R_X86_64_PLT32, 0, 0, uint64_t{1} << 31).fits);
}

TEST(ElfMachine, jumps) {
  uint32_t arm[3] = {};
  EXPECT_TRUE(elf_aarch64.write_jump(reinterpret_cast<std::byte*>(arm), 0x10000, 0x13008));
  EXPECT_EQ(arm[0], 0xf0000010u);  // adrp x16, pointer
  EXPECT_EQ(arm[1], 0xf9400610u);  // ldr x16, [x16, 8]
  EXPECT_EQ(arm[2], 0xd61f0200u);  // br x16
  unsigned char x86[6] = {};
  EXPECT_TRUE(elf_x86_64.write_jump(reinterpret_cast<std::byte*>(x86), 0x10000, 0x10106));
  const unsigned char want[] = {0xff, 0x25, 0x00, 0x01, 0, 0};  // jmp *[rip + 256]
  EXPECT_EQ(std::memcmp(x86, want, sizeof want), 0);
}

TEST(ElfMachine, that_of_this_process) {
  EXPECT_EQ(std::string_view(elf_machine().name), architecture_of(detect_instruction_set()));
}

}  // namespace
}  // namespace cleave::runtime
