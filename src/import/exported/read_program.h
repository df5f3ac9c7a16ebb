// Reads the JSON of a .pt2 file.
#pragma once
#include <string>
#include <string_view>

#include "base/result.h"
#include "import/exported/json.h"
#include "import/exported/program.h"

namespace cleave::exported {

// models/NAME.json, or serialized_exported_program.json. Errors (user): the text isn't of the
// schema, or of another than version 8; (unsupported) custom objects, by name.
Result<Program> read_program(std::string_view json);
// data/weights/NAME_weights_config.json, data/constants/NAME_constants_config.json; `folder` is
// where its files lie. Errors (unsupported): what is held as a pickle, by name.
Result<Payloads> read_payloads(std::string_view json, const std::string& folder);

// Parts of the schema, for the files that read others.
Result<SymValue> read_sym(Element e);
Result<TensorMeta> read_tensor_meta(Element e);
Result<Argument> read_argument(Element e);
Result<Graph> read_graph(Element e);

}  // namespace cleave::exported
