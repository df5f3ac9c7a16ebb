// Object files of clang, or of cc where there is none, loaded without it: what they compute, where
// they lie, and that no altered file is read outside of its bytes.
// tests: elf_object.cpp elf_machine_aarch64.cpp object_code.cpp
#include "runtime/elf_object.h"

#include <elf.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <random>

#include "base/poison.h"
#include "base/target.h"
#include "runtime/compiler.h"
#include "test/emulated.h"

namespace cleave::runtime {
namespace {

using Bytes = std::vector<std::byte>;

// Calls of functions outside and inside, constants, variables, and addresses of all of them.
constexpr const char* text = R"(
extern float expf(float);
extern double tanh(double);
static const float table[4] = {1, 2, 3, 4};
static long counter = 40;
static long calls[1000];
__attribute__((noinline)) static float row(float x) { return expf(x) * table[(int)x & 3]; }
float kernel(float x) { calls[7]++; return row(x) + (float)tanh(x); }
long count(void) { return ++counter + calls[7]; }
typedef float (*Function)(float);
static Function functions[2] = {expf, kernel};
Function *pick(long i) { return &functions[i]; }
Function direct(long i) { return i ? expf : kernel; }
const char *name(void) { return "a name"; }
int sparse(int i) {
  switch (i) {
    case 0: return 7;
    case 1: return 90;
    case 2: return 11;
    case 3: return 35;
    case 4: return 99;
    case 5: return 42;
  }
  return 0;
}
)";

class ElfObject : public testing::Test {
 protected:
  void SetUp() override {
    auto made = make_compiler(CompilerChoice::automatic, Target::here());
    if (!made.ok()) GTEST_SKIP() << made.failure().message;
    compiler_ = value_or_throw(std::move(made));
  }
  Bytes object(const std::string& c_text) {
    return value_or_throw(compiler_->relocatable(c_text, "unit"));
  }
  static std::string refusal(const Bytes& bytes) {
    const auto loaded = load_elf_object(bytes, external_symbols());
    return loaded.ok() ? "" : loaded.failure().message;
  }
  std::shared_ptr<Compiler> compiler_;
};

template <class F>
F function(const LoadedCode& code, const char* name) {
  return reinterpret_cast<F>(code.symbol(name));
}
using Real = float (*)(float);

TEST_F(ElfObject, computes_what_the_text_says) {
  const auto code = value_or_throw(load_elf_object(object(text), external_symbols()));
  const auto kernel = function<Real>(*code, "kernel");
  const float want = std::exp(2.5f) * 3 + static_cast<float>(std::tanh(2.5f));
  EXPECT_EQ(kernel(2.5f), want);
  EXPECT_EQ(function<long (*)()>(*code, "count")(), 42);
  EXPECT_EQ(function<long (*)()>(*code, "count")(), 43);
  const auto pick = function<Real* (*)(long)>(*code, "pick");
  EXPECT_EQ((*pick(0))(1), std::exp(1.0f));
  EXPECT_EQ((*pick(1))(2.5f), want);
  const auto direct = function<Real (*)(long)>(*code, "direct");
  EXPECT_EQ(direct(1)(1), std::exp(1.0f));
  EXPECT_EQ(direct(0), kernel);
  EXPECT_STREQ(function<const char* (*)()>(*code, "name")(), "a name");
  EXPECT_EQ(function<int (*)(int)>(*code, "sparse")(4), 99);
  EXPECT_EQ(code->symbol("row"), nullptr);      // static
  EXPECT_EQ(code->symbol("counter"), nullptr);  // no function
}

TEST_F(ElfObject, each_load_has_variables_of_its_own) {
  const Bytes bytes = object(text);
  const auto a = value_or_throw(load_elf_object(bytes, external_symbols()));
  const auto b = value_or_throw(load_elf_object(bytes, external_symbols()));
  EXPECT_EQ(function<long (*)()>(*a, "count")(), 41);
  EXPECT_EQ(function<long (*)()>(*a, "count")(), 42);
  EXPECT_EQ(function<long (*)()>(*b, "count")(), 41);
}

// The rights of the page of an address, such as "r-x".
std::string rights_at(const void* address) {
  std::ifstream maps("/proc/self/maps");
  const auto at = reinterpret_cast<uint64_t>(address);
  for (std::string line; std::getline(maps, line);) {
    uint64_t begin = 0, end = 0;
    char rights[5] = {};
    if (std::sscanf(line.c_str(), "%lx-%lx %4s", &begin, &end, rights) == 3 && begin <= at &&
        at < end)
      return std::string(rights, 3);
  }
  return "";
}

TEST_F(ElfObject, no_page_is_writable_and_executable) {
  const auto code = value_or_throw(load_elf_object(object(text), external_symbols()));
  EXPECT_EQ(rights_at(code->symbol("kernel")), "r-x");
  if (!test::is_emulated()) {  // which shows this page and the one before it as one
    EXPECT_EQ(rights_at(function<const char* (*)()>(*code, "name")()), "r--");
  }
  EXPECT_EQ(rights_at(function<Real* (*)(long)>(*code, "pick")(0)), "rw-");
}

TEST_F(ElfObject, what_generated_code_does_not_need_is_refused) {
  EXPECT_NE(refusal(object("void absent(void);\nvoid k(void) { absent(); }\n"))
                .find("it calls absent, which generated code may not"),
            std::string::npos);
  EXPECT_NE(refusal(object("int puts(const char*);\nvoid k(void) { puts(\"x\"); }\n")).find("puts"),
            std::string::npos);
  EXPECT_NE(refusal(object("__thread int x;\nint k(void) { return ++x; }\n")).find("thread-local"),
            std::string::npos);
  if (!watches_memory) {
    EXPECT_NE(
        refusal(
            object("volatile int x;\n__attribute__((constructor)) void first(void) { x = 1; }\n"))
            .find("constructors"),
        std::string::npos);
  }
}

TEST_F(ElfObject, other_files_are_refused) {
  EXPECT_NE(refusal({}), "");
  EXPECT_NE(refusal(Bytes(64, std::byte{0x7f})), "");
  EXPECT_NE(refusal(Bytes(100000)), "");
  std::ifstream self("/proc/self/exe", std::ios::binary);
  std::vector<char> program((std::istreambuf_iterator<char>(self)), {});
  Bytes bytes(program.size());
  std::memcpy(bytes.data(), program.data(), program.size());
  EXPECT_NE(
      refusal(bytes).find(fmt::format("it is none of {}", architecture_of(Target::here().set))),
      std::string::npos);
}

TEST_F(ElfObject, a_function_behind_its_section_is_refused) {
  Bytes bytes = object("int seven(void) { return 7; }\n");
  Elf64_Ehdr head;
  std::memcpy(&head, bytes.data(), sizeof head);
  int functions = 0;
  for (size_t i = 0; i < head.e_shnum; ++i) {
    Elf64_Shdr section;
    std::memcpy(&section, bytes.data() + head.e_shoff + i * sizeof section, sizeof section);
    if (section.sh_type != SHT_SYMTAB) continue;
    for (size_t at = section.sh_offset; at < section.sh_offset + section.sh_size;
         at += sizeof(Elf64_Sym)) {
      Elf64_Sym symbol;
      std::memcpy(&symbol, bytes.data() + at, sizeof symbol);
      if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC) continue;
      symbol.st_value = 4096;
      std::memcpy(bytes.data() + at, &symbol, sizeof symbol);
      ++functions;
    }
  }
  EXPECT_GE(functions, 1);  // a compiler with sanitizers adds one
  EXPECT_NE(refusal(bytes).find("a symbol lies behind its section"), std::string::npos);
}

// In its own allocation, so that AddressSanitizer sees a read behind the end.
TEST_F(ElfObject, a_truncated_file_is_refused) {
  const Bytes bytes = object(text);
  for (size_t size = 0; size < bytes.size(); size += 1 + size / 64)
    EXPECT_NE(refusal(Bytes(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size))), "")
        << size;
}

TEST_F(ElfObject, altered_files_are_refused_or_load) {
  const Bytes good = object(text);
  std::mt19937 rng(1);
  int refused = 0;
  constexpr int rounds = 20000;
  for (int k = 0; k < rounds; ++k) {
    Bytes bytes = good;
    for (uint32_t change = 0; change < 1 + rng() % 4; ++change) {
      const size_t at = rng() % bytes.size();
      const uint64_t odd[] = {0, ~uint64_t{0}, uint64_t{1} << 63, bytes.size(), rng()};
      const size_t size = std::min<size_t>(size_t{1} << (rng() % 4), bytes.size() - at);
      std::memcpy(bytes.data() + at, &odd[rng() % 5], size);
    }
    refused += !refusal(bytes).empty();
  }
  EXPECT_GT(refused, rounds / 20);
  EXPECT_LT(refused, rounds);
}

TEST(ObjectCode, of_the_systems_compiler_loads_from_its_bytes) {
  const auto made = make_cc_compiler(Target::here());
  if (!made.ok()) GTEST_SKIP() << made.failure().message;
  const ObjectCode object =
      value_or_throw((*made)->object("int seven(void) { return 7; }\n", "unit"));
  EXPECT_EQ(object.form, ObjectCode::Form::shared);
  const auto first = value_or_throw(load_code(object)), second = value_or_throw(load_code(object));
  EXPECT_EQ(function<int (*)()>(*first, "seven")(), 7);
  EXPECT_NE(first->symbol("seven"), second->symbol("seven"));
  EXPECT_FALSE(load_code({.form = ObjectCode::Form::shared, .bytes = Bytes(100)}).ok());
}

}  // namespace
}  // namespace cleave::runtime
