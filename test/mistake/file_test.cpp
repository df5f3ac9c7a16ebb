// Mistakes with files and data.
#include "test/mistake/mistake.h"

namespace cleave::mistake {
namespace {

MISTAKE(weights_of_torch_save, "A file of torch.save",
        R"(@)") {
  std::ofstream(tmp("model.pt"), std::ios::binary) << "PK\x03\x04" << std::string(100, '.');
  Generator rng(1);
  load_weights(tmp("model.pt"), Mlp(rng));
}

MISTAKE(file_that_is_not_there, "A file that isn't there",
        R"(@)") {
  Generator rng(1);
  load_weights(tmp("modle.safetensors"), Mlp(rng));
}

MISTAKE(weights_of_another_model, "Weights of another model",
        R"(@)") {
  Generator rng(1);
  save_weights(tmp("other.safetensors"), nn::Linear(2, 8, rng));
  load_weights(tmp("other.safetensors"), Mlp(rng));
}

MISTAKE(weights_of_another_width, "Weights of another width",
        R"(@)") {
  Generator rng(1);
  save_weights(tmp("small.safetensors"), nn::Linear(2, 8, rng));
  load_weights(tmp("small.safetensors"), nn::Linear(2, 16, rng));
}

MISTAKE(weights_of_a_checkpoint, "A checkpoint instead of weights",
        R"(@)") {
  Generator rng(1);
  Mlp model(rng);
  save_checkpoint(tmp("run.safetensors"), mlp_step(model).store());
  load_weights(tmp("run.safetensors"), model);
}

MISTAKE(checkpoint_of_weights, "Weights instead of a checkpoint",
        R"(@)") {
  Generator rng(1);
  Mlp model(rng);
  save_weights(tmp("weights.safetensors"), model);
  load_checkpoint(tmp("weights.safetensors"), mlp_step(model).store());
}

MISTAKE(checkpoint_of_another_optimizer, "A checkpoint of another optimizer",
        R"(@)") {
  Generator rng(1);
  Mlp model(rng);
  save_checkpoint(tmp("sgd.safetensors"), mlp_step(model).store());
  TrainStep step = train_step(model, [&](const Tensor& x) { return mean(model(x)); },
                              optim::SGD({.momentum = 0.9}), {{"x", f32, {4, 2}}});
  load_checkpoint(tmp("sgd.safetensors"), step.store());
}

MISTAKE(file_that_was_cut_off, "A file that was cut off",
        R"(@)") {
  Generator rng(1);
  Mlp model(rng);
  save_weights(tmp("whole.safetensors"), model);
  std::ifstream whole(tmp("whole.safetensors"), std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(whole)), {});
  std::ofstream(tmp("part.safetensors"), std::ios::binary) << bytes.substr(0, bytes.size() - 10);
  load_weights(tmp("part.safetensors"), model);
}

MISTAKE(checkpoint_of_averages, "A checkpoint while the averages are in use",
        R"(@)") {
  Generator rng(1);
  Mlp model(rng);
  TrainStep step = mlp_step(model, {.ema_decay = 0.99});
  step.use_ema(true);
  save_checkpoint(tmp("averages.safetensors"), step.store());
}

MISTAKE(folder_that_is_not_there, "A folder that isn't there",
        R"(@)") {
  Generator rng(1);
  save_weights(tmp("no/such/folder.safetensors"), Mlp(rng));
}

MISTAKE(column_that_is_not_there, "A column that a table doesn't have",
        R"(@)") {
  std::ofstream(tmp("iris.csv")) << "length,width\n5.1,3.5\n";
  data::csv(tmp("iris.csv"), {{{"lenght", "width"}}});
}

MISTAKE(text_in_a_table, "A word where a number is expected",
        R"(@)") {
  std::ofstream(tmp("words.csv")) << "length,class\n5.1,setosa\n";
  data::csv(tmp("words.csv"), {{{"length"}}, {{"class"}, i64}});
}

MISTAKE(rows_that_differ, "As many inputs as targets",
        R"(@)") {
  data::tensors({HostTensor(f32, {100, 2}), HostTensor(i64, {99})});
}

MISTAKE(batch_of_more_than_there_is, "A batch larger than the data",
        R"(@)") {
  data::Batches(data::tensors({HostTensor(f32, {10, 2})}), {.size = 32});
}

}  // namespace
}  // namespace cleave::mistake
