// Operators of ATen whose arguments or results are complex, as calls of tensors of parts
// (complex_number.h). What has no rule here, and isn't a view (complex_views.h), is refused by
// name.
#pragma once
#include <complex>
#include <string>
#include <string_view>

#include "import/exported/complex_number.h"
#include "import/exported/rules.h"

namespace cleave::exported {

// Whether a tensor among the node's arguments or results is complex, or a number is.
bool touches_complex(const Node& node, const Graph& source);
// Whether such a call can be read; name without the _ of writes in place.
bool covers_complex(std::string_view name, std::string_view overload);
// The rule, or null.
Rule find_complex_rule(std::string_view name, std::string_view overload);

std::span<const RuleRow> complex_fourier_rules();
std::span<const RuleRow> complex_part_rules();
std::span<const RuleRow> complex_pointwise_rules();
std::span<const RuleRow> complex_product_rules();
std::span<const RuleRow> complex_reduction_rules();
std::span<const RuleRow> complex_shape_rules();

// The call's rule for real tensors, of the real parts and of the imaginary parts; of what isn't
// complex the imaginary part is 0, but for indices and masks.
Values of_each_part(Call& c);

}  // namespace cleave::exported
