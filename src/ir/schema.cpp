// Reads ATen's signature notation.
#include "ir/schema.h"

#include <cctype>
#include <charconv>

namespace cleave {

int Schema::find(std::string_view name) const {
  for (size_t i = 0; i < args.size(); ++i)
    if (args[i].name == name) return static_cast<int>(i);
  return -1;
}

namespace {

class SchemaReader {
 public:
  explicit SchemaReader(const std::string& text) : text_(text) {}

  Result<Schema> read() {
    Schema s;
    if (!accept("(")) return wrong("'('");
    while (!accept(")")) {
      if (accept("*")) {
        if (!accept(",")) return wrong("','");
        continue;
      }
      CLEAVE_TRY(ArgDef arg, read_arg());
      if (s.find(arg.name) >= 0) return wrong("a name that no other argument has");
      uint16_t index = static_cast<uint16_t>(s.args.size());
      if (arg.is_operand()) {
        if (arg.list) s.list_operand = static_cast<int>(s.operands.size());
        s.operands.push_back(index);
      } else {
        s.attrs.push_back(index);
      }
      s.args.push_back(std::move(arg));
      accept(",");
    }
    if (!accept("->")) return wrong("'->'");
    CLEAVE_CHECK(read_results(s));
    return s;
  }

 private:
  Status read_results(Schema& s) {
    if (accept("Tensor[]")) {
      s.results = -1;
    } else if (accept("(")) {
      s.results = 0;
      while (!accept(")")) {
        if (!accept("Tensor")) return wrong("'Tensor'");
        s.result_names.push_back(word());
        ++s.results;
        accept(",");
      }
    } else if (accept("Tensor")) {
      s.result_names.push_back(word());
    } else {
      return wrong("'Tensor'");
    }
    skip();
    return at_ == text_.size() ? Status() : Status(wrong("the end"));
  }

  Result<ArgDef> read_arg() {
    ArgDef arg;
    std::string type = word();
    struct Row {
      const char* name;
      ArgKind kind;
      bool symbolic;
    };
    constexpr Row rows[] = {
        {"Tensor", ArgKind::tensor, false},    {"int", ArgKind::integer, false},
        {"SymInt", ArgKind::integer, true},    {"float", ArgKind::floating, false},
        {"Scalar", ArgKind::number, false},    {"bool", ArgKind::boolean, false},
        {"str", ArgKind::string, false},       {"Device", ArgKind::string, false},
        {"ScalarType", ArgKind::dtype, false}, {"MemoryFormat", ArgKind::memory_format, false},
        {"Graph", ArgKind::graph, false}};
    const Row* row = nullptr;
    for (const Row& r : rows)
      if (type == r.name) row = &r;
    if (!row) return wrong("a type");
    arg.kind = row->kind;
    arg.symbolic = row->symbolic;
    if (accept("|")) {
      if (word() != "Scalar") return wrong("'Scalar'");
      arg.number_allowed = true;
    }
    bool item_optional = accept("?");
    if (accept("[")) {
      while (at_ < text_.size() && text_[at_] != ']') ++at_;  // a length is only a note for readers
      if (!accept("]")) return wrong("']'");
      arg.list = true;
      arg.optional_item = item_optional;
      arg.optional = accept("?");
    } else {
      arg.optional = item_optional;
    }
    arg.name = word();
    if (arg.name.empty()) return wrong("a name");
    if (accept("=")) {
      CLEAVE_TRY(arg.default_value, read_value());
      arg.has_default = true;
      if (auto* d = arg.default_value.get<Dim>(); d && arg.kind == ArgKind::floating)
        arg.default_value = static_cast<double>(d->value());
    } else if (arg.optional) {
      arg.has_default = true;
    }
    return arg;
  }

  Result<AttrValue> read_value() {
    skip();
    if (accept("[")) {
      AttrList list;
      while (!accept("]")) {
        CLEAVE_TRY(AttrValue v, read_value());
        list.push_back(std::move(v));
        accept(",");
      }
      return AttrValue(std::move(list));
    }
    if (at_ < text_.size() && (text_[at_] == '"' || text_[at_] == '\'')) {
      size_t end = text_.find(text_[at_], at_ + 1);
      if (end == std::string::npos) return wrong("the end of a string");
      std::string s = text_.substr(at_ + 1, end - at_ - 1);
      at_ = end + 1;
      return AttrValue(std::move(s));
    }
    size_t end = at_;
    while (end < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[end])) ||
                                  std::string_view("+-._").find(text_[end]) != std::string::npos))
      ++end;
    std::string t = text_.substr(at_, end - at_);
    at_ = end;
    if (t == "None") return AttrValue();
    if (t == "True" || t == "False") return AttrValue(t == "True");
    if (t == "contiguous_format") return AttrValue(MemoryFormat::contiguous);
    if (auto d = dtype_of(t)) return AttrValue(*d);
    int64_t i = 0;
    auto [p, ec] = std::from_chars(t.data(), t.data() + t.size(), i);
    if (ec == std::errc() && p == t.data() + t.size()) return AttrValue(i);
    double f = 0;
    auto [q, ec2] = std::from_chars(t.data(), t.data() + t.size(), f);
    if (ec2 == std::errc() && q == t.data() + t.size()) return AttrValue(f);
    return wrong("a default value");
  }

  static std::optional<DType> dtype_of(std::string_view t) {
    for (int i = 0; i < dtype_count; ++i)
      if (name_of(static_cast<DType>(i)) == t) return static_cast<DType>(i);
    return std::nullopt;
  }

  std::string word() {
    skip();
    size_t begin = at_;
    while (at_ < text_.size() &&
           (std::isalnum(static_cast<unsigned char>(text_[at_])) || text_[at_] == '_'))
      ++at_;
    return text_.substr(begin, at_ - begin);
  }
  bool accept(std::string_view t) {
    skip();
    if (text_.compare(at_, t.size(), t) != 0) return false;
    at_ += t.size();
    return true;
  }
  void skip() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
  }
  Failure wrong(const char* expected) const {
    return bug("signature '{}': expected {} at character {}", text_, expected, at_ + 1);
  }

  const std::string& text_;
  size_t at_ = 0;
};

}  // namespace

Result<Schema> parse_schema(const std::string& text) { return SchemaReader(text).read(); }

}  // namespace cleave
