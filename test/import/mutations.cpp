#include "test/import/mutations.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <string_view>

namespace cleave {
namespace {

constexpr std::array<std::string_view, 8> odd_numbers = {
    "-1", "0", "1e400", "4294967296", "9223372036854775807", "18446744073709551616", "null", "1.5"};
constexpr std::array<uint64_t, 8> odd_varints = {
    0, 1, 0x7fffffff, 0x80000000, uint64_t{1} << 40, 0x7fffffffffffffff, 0xffffffffffffffff, 127};

std::string piece(std::string_view from, size_t at, size_t most) {
  return std::string(from.substr(at, most));
}

// ---- messages of protocol buffers

struct Field {
  uint64_t key = 0, number = 0;  // wire type 0
  std::string bytes;             // 1, 2 and 5
  std::vector<Field> fields;     // of 2, where its bytes are a message
};

std::optional<uint64_t> take_varint(std::string_view& from) {
  uint64_t out = 0;
  for (unsigned shift = 0; shift < 64 && !from.empty(); shift += 7) {
    const auto next = static_cast<unsigned char>(from[0]);
    from.remove_prefix(1);
    out |= uint64_t{next & 127U} << shift;
    if (next < 128) return out;
  }
  return std::nullopt;
}

void put_varint(std::string& out, uint64_t v) {
  for (; v >= 128; v >>= 7) out += static_cast<char>(v | 128);
  out += static_cast<char>(v);
}

// Nothing where the bytes are no message.
std::optional<std::vector<Field>> fields_of(std::string_view from, int depth = 0) {
  std::vector<Field> out;
  while (!from.empty()) {
    Field f;
    const auto key = take_varint(from);
    if (!key || *key >> 3 == 0 || *key >> 3 > 100 || depth > 12) return std::nullopt;
    f.key = *key;
    if ((f.key & 7) == 0) {
      const auto number = take_varint(from);
      if (!number) return std::nullopt;
      f.number = *number;
    } else {
      const bool is_text = (f.key & 7) == 2;
      const auto length = is_text            ? take_varint(from)
                          : (f.key & 7) == 5 ? std::optional<uint64_t>(4)
                          : (f.key & 7) == 1 ? std::optional<uint64_t>(8)
                                             : std::nullopt;
      if (!length || *length > from.size()) return std::nullopt;
      f.bytes = from.substr(0, *length);
      from.remove_prefix(*length);
      if (is_text && f.bytes.size() > 1)
        f.fields = fields_of(f.bytes, depth + 1).value_or(std::vector<Field>());
    }
    out.push_back(std::move(f));
  }
  return out;
}

std::string bytes_of(const std::vector<Field>& fields) {
  std::string out;
  for (const Field& f : fields) {
    put_varint(out, f.key);
    if ((f.key & 7) == 0) {
      put_varint(out, f.number);
      continue;
    }
    const std::string inside = f.fields.empty() ? f.bytes : bytes_of(f.fields);
    if ((f.key & 7) == 2) put_varint(out, inside.size());
    out += inside;
  }
  return out;
}

}  // namespace

std::string Mutations::bytes(std::string whole, const std::string& other) {
  if (whole.empty()) return other;
  const size_t at = below(whole.size()), n = 1 + below(std::min<size_t>(whole.size() - at, 64));
  switch (below(7)) {
    case 0:
      for (size_t k = 0; k <= below(8); ++k)
        whole[below(whole.size())] ^= static_cast<char>(1U << below(8));
      return whole;
    case 1: return whole.substr(0, at);
    case 2: return whole.erase(at, n);
    case 3: return whole.insert(at, piece(whole, at, n));
    case 4: {
      const size_t to = below(whole.size() - n + 1);
      const std::string first = piece(whole, at, n), second = piece(whole, to, n);
      return whole.replace(at, n, second).replace(to, second.size(), first);
    }
    case 5: return whole.replace(at, n, n, '\0');
    default: {
      const size_t from = other.empty() ? 0 : below(other.size());
      return whole.replace(at, n, piece(other, from, 1 + below(256)));
    }
  }
}

std::string Mutations::number(std::string text) {
  std::vector<std::pair<size_t, size_t>> numbers;  // where each is, and its length
  for (size_t at = 0; (at = text.find_first_of("0123456789", at)) != text.npos;) {
    const size_t end = std::min(text.find_first_not_of("0123456789", at), text.size());
    numbers.emplace_back(at, end - at);
    at = end;
  }
  if (numbers.empty()) return text;
  const auto [at, length] = numbers[below(numbers.size())];
  return text.replace(at, length, odd_numbers[below(odd_numbers.size())]);
}

std::string Mutations::directory(std::string zip) {
  constexpr std::string_view marks[] = {"PK\1\2", "PK\3\4", "PK\5\6"};
  std::vector<size_t> heads;
  for (const std::string_view mark : marks)
    for (size_t at = zip.find(mark); at != zip.npos; at = zip.find(mark, at + 1))
      heads.push_back(at);
  if (heads.empty()) return zip;
  const size_t at = heads[below(heads.size())] + 4 + below(26);
  const uint64_t value = odd_varints[below(odd_varints.size())];
  for (size_t k = 0; k < (below(2) == 0 ? 2U : 4U) && at + k < zip.size(); ++k)
    zip[at + k] = static_cast<char>(value >> (8 * k));
  return zip;
}

std::vector<Part> Mutations::members(std::vector<Part> parts, const std::vector<Part>& other) {
  if (parts.empty()) return parts;
  const size_t k = below(parts.size()), next = (k + 1) % parts.size();
  switch (below(7)) {
    case 0: parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(k)); break;
    case 1: std::swap(parts[k].bytes, parts[next].bytes); break;
    case 2: parts[k].bytes = other[below(other.size())].bytes; break;
    case 3: parts.push_back({"copy/" + parts[k].name, parts[k].bytes}); break;
    case 4:
      parts[k].name = bytes(parts[k].name, parts[next].name);
      for (char& c : parts[k].name)  // zipped() takes text
        if (c < ' ' || c > '~') c = '?';
      break;
    case 5: parts[k].bytes = bytes(parts[k].bytes, other[below(other.size())].bytes); break;
    default: parts[k].bytes = number(parts[k].bytes);
  }
  std::set<std::string> names{""};  // zipped() takes each name once
  std::erase_if(parts, [&](const Part& p) { return !names.insert(p.name).second; });
  for (Part& p : parts) p.deflated = below(4) == 0;
  return parts;
}

std::string Mutations::message(const std::string& whole, const std::string& other) {
  auto fields = fields_of(whole).value_or(std::vector<Field>());
  const auto others = fields_of(other).value_or(std::vector<Field>());
  if (fields.empty() || others.empty()) return bytes(whole, other);
  // A list of fields somewhere inside, and one of the other's that may be of the same message.
  std::vector<Field>* list = &fields;
  const std::vector<Field>* from = &others;
  while (true) {
    std::vector<Field>* inside = &(*list)[below(list->size())].fields;
    const std::vector<Field>* theirs = &(*from)[below(from->size())].fields;
    if (inside->empty() || below(5) == 0) break;
    list = inside;
    if (!theirs->empty()) from = theirs;
  }
  const size_t k = below(list->size());
  Field& f = (*list)[k];
  const auto at = list->begin() + static_cast<std::ptrdiff_t>(k);
  switch (below(8)) {
    case 0: list->erase(at); break;
    case 1: list->insert(at, f); break;
    case 2: f.key = (f.key & 7) | (1 + below(30)) << 3; break;
    case 3: list->insert(at, (*from)[below(from->size())]); break;
    case 4: f = (*from)[below(from->size())]; break;
    case 5: std::swap(f, (*list)[below(list->size())]); break;
    default:
      if ((f.key & 7) == 0) {
        f.number = odd_varints[below(odd_varints.size())];
      } else {
        f.bytes = bytes(f.bytes, other);
        f.fields.clear();
      }
  }
  return bytes_of(fields);
}

}  // namespace cleave
