// The layouts of .pt2 archives.
//
//   PyTorch 2.9 and later (archive_format is "pt2"), below one root folder:
//     models/NAME.json                              the program
//     data/weights/NAME_weights_config.json         names, types, files
//     data/weights/weight_0, ...                    bytes of storages
//     data/constants/NAME_constants_config.json     the same for constants
//     data/constants/tensor_0, ...
//   PyTorch 2.8: the same, but data/weights/NAME.pt and data/constants/NAME.pt, tables of tensors
//   (tensor_table.h), in the place of the lists
//   PyTorch 2.6 and 2.7:
//     serialized_exported_program.json              the program
//     serialized_state_dict.pt                      a table of tensors
//     serialized_constants.pt                       the same
//
// Source: torch/export/pt2_archive, torch/export/__init__.py, PyTorch 2.6 to 2.13.
#pragma once
#include <string>

#include "import/exported/program.h"
#include "import/zip_archive.h"

namespace cleave::exported {

struct ArchivedModel {
  Program program;
  Payloads tensors;  // weights and constants
};

// Errors (user): no .pt2 archive, no or several models, files that its lists don't match;
// (unsupported) compiled code in the place of a program, pickles of anything but tensors, other
// versions.
Result<ArchivedModel> read_model(const ZipArchive& zip);

}  // namespace cleave::exported
