// The values of options as text, by type: kind_of says what is expected, read_value(text_of(x))
// gives x. read_value fails without a message where the kind says it all.
//
// A list is its items, each a word (option_word.h), between commas. An empty list is "".
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cleave/options.h"

namespace cleave {

constexpr std::string_view kind_of(const bool*) { return "true or false"; }
constexpr std::string_view kind_of(const int*) { return "an integer of 32 bits"; }
constexpr std::string_view kind_of(const int64_t*) { return "an integer of 64 bits"; }
constexpr std::string_view kind_of(const uint64_t*) { return "an integer of 64 bits, 0 or more"; }
constexpr std::string_view kind_of(const double*) { return "a number"; }
constexpr std::string_view kind_of(const std::string*) { return "a text"; }
constexpr std::string_view kind_of(const std::vector<std::string>*) {
  return "names between commas";
}
constexpr std::string_view kind_of(const CompilerChoice*) { return "automatic, clang, cc or none"; }
constexpr std::string_view kind_of(const OtherSizes*) { return "refuse or grow"; }
constexpr std::string_view kind_of(const CudaGraphs*) { return "automatic, on or off"; }
constexpr std::string_view kind_of(const NonFinite*) { return "keep, skip_step or error"; }
constexpr std::string_view kind_of(const LossScaling*) { return "automatic, on or off"; }
constexpr std::string_view kind_of(const Target*) {
  return "native, x86-64-v2, x86-64-v3, x86-64-v4, x86-64-v4-bf16, x86-64-v4-amx, aarch64, cuda "
         "or sm_90, then rates";
}
constexpr std::string_view kind_of(const Device*) { return "cpu, cuda or cuda:N"; }
constexpr std::string_view kind_of(const MemoryBudget*) {
  return "a size above 0, a percentage above 0% and at most 100%, or none";
}
constexpr std::string_view kind_of(const std::optional<PytorchOptions>*) {
  return "none, or pytorch and its options: pytorch,budget:0.5,reductions:false";
}
constexpr std::string_view kind_of(const std::optional<DType>*) { return "a dtype, or none"; }

std::string text_of(bool v);
std::string text_of(int v);
std::string text_of(int64_t v);
std::string text_of(uint64_t v);
std::string text_of(double v);
std::string text_of(const std::string& v);
std::string text_of(const std::vector<std::string>& v);
std::string text_of(CompilerChoice v);
std::string text_of(OtherSizes v);
std::string text_of(CudaGraphs v);
std::string text_of(NonFinite v);
std::string text_of(LossScaling v);
std::string text_of(const Target& v);
std::string text_of(const Device& v);
std::string text_of(const MemoryBudget& v);
std::string text_of(const std::optional<DType>& v);
// NAME:VALUE of what differs from its default, after "pytorch" (pytorch_options_text.cpp).
std::string text_of(const std::optional<PytorchOptions>& v);

Status read_value(std::string_view text, bool& v);
Status read_value(std::string_view text, int& v);
Status read_value(std::string_view text, int64_t& v);
Status read_value(std::string_view text, uint64_t& v);
Status read_value(std::string_view text, double& v);
Status read_value(std::string_view text, std::string& v);
Status read_value(std::string_view text, std::vector<std::string>& v);
Status read_value(std::string_view text, CompilerChoice& v);
Status read_value(std::string_view text, OtherSizes& v);
Status read_value(std::string_view text, CudaGraphs& v);
Status read_value(std::string_view text, NonFinite& v);
Status read_value(std::string_view text, LossScaling& v);
// Errors: those of parse_target_word.
Status read_value(std::string_view text, Target& v);
Status read_value(std::string_view text, Device& v);
Status read_value(std::string_view text, MemoryBudget& v);
Status read_value(std::string_view text, std::optional<DType>& v);
Status read_value(std::string_view text, std::optional<PytorchOptions>& v);

}  // namespace cleave
