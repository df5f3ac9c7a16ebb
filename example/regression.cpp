// Prices of flats from a table: columns of a CSV file, normalized; batches, validation, early
// stopping, and the best weights in a file.
#include <cleave/cleave.h>

#include <cmath>
#include <cstdio>
#include <fstream>

using namespace cleave;

// A table of made-up flats.
void write_table(const std::string& path, int rows, Generator& rng) {
  std::ofstream out(path);
  out << "area,rooms,floor,age,distance,price\n";
  for (int i = 0; i < rows; ++i) {
    const double area = 20 + 130 * rng.uniform();
    const int64_t rooms = 1 + static_cast<int64_t>(area / 35), floor = rng.integer(8);
    const double age = 90 * rng.uniform(), distance = 12 * rng.uniform();
    const double price = area * (4 - 0.25 * distance) * (1 - 0.004 * age) +
                         3 * static_cast<double>(floor) + 20 * std::exp(-distance) +
                         6 * (rng.uniform() - 0.5);
    out << area << ',' << rooms << ',' << floor << ',' << age << ',' << distance << ',' << price
        << '\n';
  }
}

struct Model : nn::Module {
  explicit Model(Generator& rng)
      : mean(add_buffer("mean", HostTensor(DType::f32, {5}))),
        scale(add_buffer("scale", HostTensor(DType::f32, {5}))),
        layers(add_module(
            "layers", nn::Sequential(nn::Linear(5, 64, rng), nn::SiLU(), nn::Linear(64, 64, rng),
                                     nn::SiLU(), nn::Linear(64, 1, rng)))) {}
  // x f32[n,5] -> price f32[n,1]
  Tensor operator()(const Tensor& x) const { return 100 * layers((x - mean) * scale) + 200; }

  // Mean and deviation of each column of the examples are saved with the weights.
  void normalize(const data::SourcePtr& examples) {
    data::Batches all(examples, {.size = examples->size(), .shuffle = false, .prefetch = 0});
    const HostTensor& x = all.next()[0];
    const int64_t n = x.shape()[0];
    for (int64_t c = 0; c < 5; ++c) {
      double sum = 0, squares = 0;
      for (int64_t i = 0; i < n; ++i) sum += x.at<float>({i, c});
      const double m = sum / static_cast<double>(n);
      for (int64_t i = 0; i < n; ++i) squares += std::pow(x.at<float>({i, c}) - m, 2);
      mean.data<float>()[c] = static_cast<float>(m);
      scale.data<float>()[c] =
          static_cast<float>(1 / std::sqrt(squares / static_cast<double>(n) + 1e-12));
    }
  }

  Variable mean, scale;
  nn::Sequential layers;
};

int main() {
  Generator rng(1);
  write_table("flats.csv", 2000, rng);
  const data::SourcePtr table =
      data::csv("flats.csv", {{{"area", "rooms", "floor", "age", "distance"}}, {{"price"}}});
  const auto [training, held_out] = data::split(table, 0.8, 7);

  Model model(rng);
  model.normalize(training);
  const auto loss = [&](const Tensor& x, const Tensor& price) {
    return mse_loss(model(x), price) / 1e4;
  };
  TrainStep step = train_step(model, loss, optim::AdamW({.lr = 3e-3}),
                              {{"x", DType::f32, {64, 5}}, {"price", DType::f32, {64, 1}}});
  CompiledFunction validate =
      compile(model, [&](const Tensor& x, const Tensor& y) { return mse_loss(model(x), y); },
              {{"x", DType::f32, {400, 5}}, {"price", DType::f32, {400, 1}}});

  data::Batches batches(training, {.size = 64, .seed = 3});
  data::Batches test(held_out, {.size = 400, .shuffle = false});
  EarlyStopping stopping({.patience = 8});
  ScalarLog log = ScalarLog::csv("flats_log.csv");
  double first = 0;
  for (int64_t epoch = 0; epoch < 60; ++epoch) {
    RunningMean mean;
    for (int64_t k = 0; k < batches.per_epoch(); ++k) {
      const HostTensors& b = batches.next();
      mean.add(step.run({b[0], b[1]}).loss);
    }
    const HostTensors& b = test.next();
    const double error = std::sqrt(validate.run({b[0], b[1]})[0].item());
    if (epoch == 0) first = error;
    log.add(epoch, "loss", mean.value());
    log.add(epoch, "error", error);
    if (epoch % 10 == 0) std::printf("epoch %2ld  error %.2f\n", static_cast<long>(epoch), error);
    if (stopping.should_stop(error)) break;
    if (stopping.is_best()) save_weights("flats.safetensors", model);
  }
  load_weights("flats.safetensors", model);
  std::printf("held-out error %.2f -> %.2f thousand\n", first, stopping.best());
  return stopping.best() < 5 ? 0 : 1;
}
