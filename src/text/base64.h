// Bytes as text by the alphabet of RFC 4648, section 4.
#pragma once
#include <string>
#include <string_view>

#include "base/result.h"

namespace cleave::text {

// Error (user): a byte outside the alphabet, a length that no bytes have.
Result<std::string> decode_base64(std::string_view text);

}  // namespace cleave::text
