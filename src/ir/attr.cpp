#include "ir/attr.h"

#include <bit>
#include <cmath>

#include "ir/graph.h"

namespace cleave {

AttrValue::AttrValue() = default;
AttrValue::AttrValue(bool v) : value_(v) {}
AttrValue::AttrValue(int v) : value_(Dim(v)) {}
AttrValue::AttrValue(int64_t v) : value_(Dim(v)) {}
AttrValue::AttrValue(Dim v) : value_(std::move(v)) {}
AttrValue::AttrValue(double v) : value_(v) {}
AttrValue::AttrValue(std::string v) : value_(std::move(v)) {}
AttrValue::AttrValue(const char* v) : value_(std::string(v)) {}
AttrValue::AttrValue(DType v) : value_(v) {}
AttrValue::AttrValue(MemoryFormat v) : value_(v) {}
AttrValue::AttrValue(AttrList v) : value_(std::move(v)) {}
AttrValue::AttrValue(GraphRef v) : value_(std::move(v)) {}
AttrValue::AttrValue(const AttrValue& from) = default;
AttrValue::AttrValue(AttrValue&& from) noexcept = default;
AttrValue& AttrValue::operator=(const AttrValue& from) = default;
AttrValue& AttrValue::operator=(AttrValue&& from) noexcept = default;
AttrValue::~AttrValue() = default;

AttrValue::AttrValue(const std::vector<int64_t>& v) : value_(AttrList(v.begin(), v.end())) {}
AttrValue::AttrValue(const std::vector<Dim>& v) : value_(AttrList(v.begin(), v.end())) {}
AttrValue::AttrValue(const std::vector<bool>& v) {
  AttrList list;
  for (bool b : v) list.emplace_back(b);
  value_ = std::move(list);
}

double AttrValue::as_double() const {
  if (auto* b = get<bool>()) return *b;
  if (auto* d = get<Dim>()) return d->is_const() ? static_cast<double>(d->value()) : std::nan("");
  if (auto* f = get<double>()) return *f;
  return std::nan("");
}

bool operator==(const AttrValue& a, const AttrValue& b) {
  if (a.value_.index() != b.value_.index()) return false;
  if (auto* x = a.get<double>()) {
    double y = *b.get<double>();
    return (std::isnan(*x) && std::isnan(y)) ||
           std::bit_cast<uint64_t>(*x) == std::bit_cast<uint64_t>(y);
  }
  return a.value_ == b.value_;
}

std::string_view name_of(MemoryFormat f) {
  constexpr std::string_view names[] = {"contiguous", "channels_last", "channels_last_3d",
                                        "preserve"};
  return names[static_cast<int>(f)];
}

std::string double_text(double v) {
  if (std::isnan(v)) return "nan";
  if (std::isinf(v)) return v < 0 ? "-inf" : "inf";
  std::string s = fmt::format("{}", v);  // shortest text that reads back the same
  return s.find_first_of(".e") == std::string::npos ? s + ".0" : s;
}

std::string quoted(const std::string& s) {
  std::string out = "\"";
  for (unsigned char c : s) {
    if (c == '"' || c == '\\')
      out += '\\', out += static_cast<char>(c);
    else if (c == '\n')
      out += "\\n";
    else if (c == '\t')
      out += "\\t";
    else if (c < 0x20 || c == 0x7f)
      out += fmt::format("\\x{:02x}", c);
    else
      out += static_cast<char>(c);
  }
  return out + '"';
}

std::string AttrValue::text() const {
  struct Text {
    std::string operator()(std::monostate) const { return "none"; }
    std::string operator()(bool v) const { return v ? "true" : "false"; }
    std::string operator()(const Dim& v) const { return v.text(); }
    std::string operator()(double v) const { return double_text(v); }
    std::string operator()(const std::string& v) const { return quoted(v); }
    std::string operator()(DType v) const { return std::string(name_of(v)); }
    std::string operator()(MemoryFormat v) const { return std::string(name_of(v)); }
    std::string operator()(const AttrList& v) const {
      std::string out = "[";
      for (size_t i = 0; i < v.size(); ++i) {
        if (i) out += ',';
        out += v[i].text();
      }
      return out + ']';
    }
    std::string operator()(const GraphRef& v) const { return v ? "@" + v->name() : "@"; }
  };
  return std::visit(Text{}, value_);
}

uint64_t AttrValue::hash() const {
  auto mix = [](uint64_t h, uint64_t x) { return (h ^ x) * 0x9e3779b97f4a7c15u + (h >> 29); };
  uint64_t h = value_.index() * 0x517cc1b727220a95u;
  if (auto* b = get<bool>()) return mix(h, *b);
  if (auto* d = get<Dim>())
    return mix(
        h, d->is_const() ? static_cast<uint64_t>(d->value()) : std::hash<std::string>{}(d->text()));
  if (auto* f = get<double>()) return mix(h, std::isnan(*f) ? 1 : std::bit_cast<uint64_t>(*f));
  if (auto* s = get<std::string>()) return mix(h, std::hash<std::string>{}(*s));
  if (auto* t = get<DType>()) return mix(h, static_cast<uint64_t>(*t));
  if (auto* m = get<MemoryFormat>()) return mix(h, static_cast<uint64_t>(*m));
  if (auto* g = get<GraphRef>()) return mix(h, *g ? std::hash<std::string>{}((*g)->name()) : 0);
  if (auto* l = get<AttrList>())
    for (const AttrValue& v : *l) h = mix(h, v.hash());
  return h;
}

}  // namespace cleave
