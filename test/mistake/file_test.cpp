// Mistakes with files and data.
#include "test/mistake/mistake.h"

namespace cleave::mistake {
namespace {

MISTAKE(weights_of_torch_save, "A file of torch.save",
        "TMP/model.pt: format: this is a file of torch.save, which can run any code "
        "when it is read; write it again in Python: "
        "safetensors.torch.save_file(torch.load(PATH, weights_only=True), "
        "\"weights.safetensors\")") {
  std::ofstream(tmp("model.pt"), std::ios::binary) << "PK\x03\x04" << std::string(100, '.');
  Generator rng(1);
  load_weights(tmp("model.pt"), Mlp(rng));
}

MISTAKE(file_that_is_not_there, "A file that isn't there",
        "TMP/modle.safetensors: open: No such file or directory") {
  Generator rng(1);
  load_weights(tmp("modle.safetensors"), Mlp(rng));
}

MISTAKE(weights_of_another_model, "Weights of another model",
        "TMP/other.safetensors: tensors: the file does not fit the model: 4 missing: "
        "fc1.weight, fc1.bias, fc2.weight, fc2.bias; 2 unexpected: bias, weight") {
  Generator rng(1);
  save_weights(tmp("other.safetensors"), nn::Linear(2, 8, rng));
  load_weights(tmp("other.safetensors"), Mlp(rng));
}

MISTAKE(weights_of_another_width, "Weights of another width",
        "TMP/small.safetensors: tensors: the file does not fit the model: 2 of another "
        "type: weight is f32[8,2], expected f32[16,2], bias is f32[8], expected f32[16]") {
  Generator rng(1);
  save_weights(tmp("small.safetensors"), nn::Linear(2, 8, rng));
  load_weights(tmp("small.safetensors"), nn::Linear(2, 16, rng));
}

MISTAKE(weights_of_a_checkpoint, "A checkpoint instead of weights",
        "TMP/run.safetensors: tensors: the file does not fit the model: 3 unexpected: "
        "optimizer.lr, optimizer.step, rng; it is a checkpoint, whose weights alone are "
        "loaded with {.allow_extra = true}") {
  Generator rng(1);
  Mlp model(rng);
  save_checkpoint(tmp("run.safetensors"), mlp_step(model).store());
  load_weights(tmp("run.safetensors"), model);
}

MISTAKE(checkpoint_of_weights, "Weights instead of a checkpoint",
        "TMP/weights.safetensors: version: this is no checkpoint of cleave; "
        "load_weights takes weights alone") {
  Generator rng(1);
  Mlp model(rng);
  save_weights(tmp("weights.safetensors"), model);
  load_checkpoint(tmp("weights.safetensors"), mlp_step(model).store());
}

MISTAKE(checkpoint_of_another_optimizer, "A checkpoint of another optimizer",
        "TMP/sgd.safetensors: tensors: the file does not fit the model: 4 missing: "
        "optimizer.momentum_buffer.fc1.weight, optimizer.momentum_buffer.fc1.bias, "
        "optimizer.momentum_buffer.fc2.weight, optimizer.momentum_buffer.fc2.bias") {
  Generator rng(1);
  Mlp model(rng);
  save_checkpoint(tmp("sgd.safetensors"), mlp_step(model).store());
  TrainStep step = train_step(model, [&](const Tensor& x) { return mean(model(x)); },
                              optim::SGD({.momentum = 0.9}), {{"x", f32, {4, 2}}});
  load_checkpoint(tmp("sgd.safetensors"), step.store());
}

MISTAKE(file_that_was_cut_off, "A file that was cut off",
        "TMP/part.safetensors: tensor \"fc2.weight\": data_offsets: end 132 is outside "
        "the data of 122 bytes") {
  Generator rng(1);
  Mlp model(rng);
  save_weights(tmp("whole.safetensors"), model);
  std::ifstream whole(tmp("whole.safetensors"), std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(whole)), {});
  std::ofstream(tmp("part.safetensors"), std::ios::binary) << bytes.substr(0, bytes.size() - 10);
  load_weights(tmp("part.safetensors"), model);
}

MISTAKE(checkpoint_of_averages, "A checkpoint while the averages are in use",
        "TMP/averages.safetensors: an average stands in the place of fc1.weight; "
        "use_ema(false) first") {
  Generator rng(1);
  Mlp model(rng);
  TrainStep step = mlp_step(model, {.ema_decay = 0.99});
  step.use_ema(true);
  save_checkpoint(tmp("averages.safetensors"), step.store());
}

MISTAKE(folder_that_is_not_there, "A folder that isn't there",
        "TMP/no/such/folder.safetensors: create: No such file or directory; nothing was "
        "changed") {
  Generator rng(1);
  save_weights(tmp("no/such/folder.safetensors"), Mlp(rng));
}

MISTAKE(column_that_is_not_there, "A column that a table doesn't have",
        "TMP/iris.csv: there is no column lenght; columns are length, width") {
  std::ofstream(tmp("iris.csv")) << "length,width\n5.1,3.5\n";
  data::csv(tmp("iris.csv"), {{{"lenght", "width"}}});
}

MISTAKE(text_in_a_table, "A word where a number is expected",
        "TMP/words.csv: line 2: column class: 'setosa' is no number") {
  std::ofstream(tmp("words.csv")) << "length,class\n5.1,setosa\n";
  data::csv(tmp("words.csv"), {{{"length"}}, {{"class"}, i64}});
}

MISTAKE(rows_that_differ, "As many inputs as targets",
        "data::tensors: tensor 1 is i64[99], tensor 0 f32[100,2]; expected as many rows") {
  data::tensors({HostTensor(f32, {100, 2}), HostTensor(i64, {99})});
}

MISTAKE(batch_of_more_than_there_is, "A batch larger than the data",
        "program.cpp:1: data::Batches: 10 examples make no batch of 32") {
  data::Batches(data::tensors({HostTensor(f32, {10, 2})}), {.size = 32});
}

}  // namespace
}  // namespace cleave::mistake
