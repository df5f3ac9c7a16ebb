// Matrix products whose groups are known when they run (library/grouped_product_spec.h).
//
// Each group is cut into pieces as a product of all its rows would be (gemm_cut.h), so that one
// large group is shared by the threads too. Sums are in the order of Gemm: bits depend on a group's
// sizes and on the target, never on the threads.
//
// Errors: Unsupported for dtypes without products; Bug for negative dimensions.
#pragma once
#include "cleave/target.h"
#include "library/grouped_product_spec.h"
#include "library/library_function.h"

namespace cleave::runtime {

Result<LibraryFunctionPtr> make_grouped_product(const GroupedProductSpec& spec,
                                                const Target& target);

}  // namespace cleave::runtime
