// Bytes as characters that can be seen, one for each: a space is U+0120, "Ġ". Models of bytes have
// these in their vocabularies (GPT-2's encoder.py, bytes_to_unicode).
#pragma once
#include <string>
#include <string_view>

namespace cleave::text {

// The characters of the bytes of a text.
void append_byte_level(std::string& out, std::string_view bytes);
// The bytes of such characters; false, and nothing appended, where there is another one.
bool append_bytes(std::string& out, std::string_view characters);

}  // namespace cleave::text
