// The tables of tensors in archives of PyTorch 2.6 to 2.8, which torch.save wrote: a zip file with
// data.pkl, a pickle, and the bytes of storages in data/0, data/1, ...
//
// A pickle is a program for a machine that can call anything. It is not run here: the words that
// torch.save writes for a dict of tensors are read as data, by a closed list of opcodes and names:
//
//   collections.OrderedDict                            an empty dict
//   torch.FloatStorage, ... , and ('storage', type, '0', 'cpu', 6)      the bytes of data/0
//   torch._utils._rebuild_tensor_v2(storage, offset, sizes, strides, requires_grad, hooks)
//   torch._utils._rebuild_parameter(tensor, requires_grad, hooks)
//   torch._utils._rebuild_parameter_with_state(..., attributes), which are skipped
//
// Any other name, and any other opcode, is an error that says which. Nothing is looked up or
// called.
// Source: torch/_utils.py, torch/serialization.py, PyTorch 2.6; pickletools.py, Python 3.11.
#pragma once
#include <memory>
#include <string>

#include "import/exported/program.h"
#include "import/zip_archive.h"

namespace cleave::exported {

// Errors (user): the file is damaged; (unsupported) it holds anything but tensors by name.
Result<Payloads> read_tensor_table(const std::shared_ptr<const ZipArchive>& archive);

}  // namespace cleave::exported
