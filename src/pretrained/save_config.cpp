// config.json with its fields in their order, indented as transformers does.
#include <map>
#include <utility>

#include "base/json.h"
#include "pretrained/save.h"

namespace cleave::pretrained {
namespace {

std::string line_of(size_t depth) { return "\n" + std::string(2 * depth, ' '); }

// Depth is bounded by the reader's.
void append(Element e, size_t depth, std::string& out) {
  simdjson::dom::object object;
  simdjson::dom::array array;
  std::string_view comma;
  if (e.get_object().get(object) == simdjson::SUCCESS && object.size() > 0) {
    out += '{';
    for (const simdjson::dom::key_value_pair field : object) {
      out += fmt::format("{}{}{}: ", std::exchange(comma, ","), line_of(depth + 1),
                         json_string(field.key).value_or("\"\""));
      append(field.value, depth + 1, out);
    }
    out += line_of(depth) + '}';
  } else if (e.get_array().get(array) == simdjson::SUCCESS && array.size() > 0) {
    out += '[';
    for (const Element item : array) {
      out += fmt::format("{}{}", std::exchange(comma, ","), line_of(depth + 1));
      append(item, depth + 1, out);
    }
    out += line_of(depth) + ']';
  } else {
    out += simdjson::minify(e);
  }
}

std::string torch_name(DType dtype) {
  switch (dtype) {
    case DType::f64: return "float64";
    case DType::bf16: return "bfloat16";
    case DType::f16: return "float16";
    default: return "float32";
  }
}

}  // namespace

std::string saved_config(const ConfigFile& file, const Facts& facts, DType dtype) {
  const Fields& fields = file.fields();
  const auto quoted = [](const std::string& text) { return "\"" + text + "\""; };
  std::map<std::string_view, std::string> own;  // what the model has of its own
  own["architectures"] = "[" + line_of(2) + quoted(facts.class_name) + line_of(1) + "]";
  own["model_type"] = quoted(facts.model_type);
  // Before 2025 the field was named torch_dtype.
  const bool has_older = fields.find("torch_dtype").has_value();
  if (has_older) own["torch_dtype"] = quoted(torch_name(dtype));
  if (!has_older || fields.find("dtype")) own["dtype"] = quoted(torch_name(dtype));
  if (file.dropout())
    for (const std::string& field : facts.dropout_fields)
      own[field] = fmt::format("{}", *file.dropout());

  std::string out = "{";
  std::string_view comma;
  const auto begin = [&](std::string_view key) {
    out += fmt::format("{}{}{}: ", std::exchange(comma, ","), line_of(1),
                       json_string(key).value_or("\"\""));
  };
  for (const simdjson::dom::key_value_pair field : fields.object()) {
    begin(field.key);
    const auto changed = own.find(field.key);
    if (changed == own.end()) {
      append(field.value, 1, out);
    } else {
      out += changed->second;
      own.erase(changed);
    }
  }
  for (const auto& [key, value] : own) {
    begin(key);
    out += value;
  }
  return out + "\n}\n";
}

}  // namespace cleave::pretrained
