// The host program's code for one call of an operator.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace cleave {

// Operands and results are row-major and dense; one call computes the whole operator, on one
// thread. `operands` has one pointer for each flat operand (null: none). Either `c_text` defines
// `void symbol(void* const* operands, void* const* results, const long* sizes)`, including no
// headers, or `call` is given. The code must write every element and not keep the pointers.
struct CustomOpCode {
  std::string c_text;
  std::string symbol;
  std::vector<int64_t> sizes = {};  // of c_text: of the operands that are given, and of the results
  std::function<void(void* const* operands, void* const* results)> call;
};

}  // namespace cleave
