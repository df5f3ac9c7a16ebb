#include "backend/unit_key.h"

#include "cache/sha256.h"

namespace cleave {

std::string unit_key(std::string_view identity, int kind, std::string_view text) {
  cache::Sha256 sum;
  const std::string head = fmt::format("{} {}\n{}\n", identity.size(), identity, kind);
  sum.update(std::as_bytes(std::span(head)));
  sum.update(std::as_bytes(std::span(text)));
  return cache::hex(sum.finish());
}

}  // namespace cleave
