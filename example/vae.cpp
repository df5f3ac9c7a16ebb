// A convolutional variational autoencoder (Kingma and Welling, 2014) of digits. Its noise is drawn
// in the program, anew in each training step.
#include "pictures.h"
#include "training_run.h"

using namespace cleave;

constexpr int64_t size = 16, channels = 16, latent = 8, batch = 64;
constexpr int64_t corner = size / 4, flat = 2 * channels * corner * corner;

struct Vae : nn::Module {
  explicit Vae(Generator& rng)
      : encoder(add_module(
            "encoder",
            nn::Sequential(nn::Conv2d(1, channels, 4, rng, {.stride = 2, .padding = 1}), nn::ReLU(),
                           nn::Conv2d(channels, 2 * channels, 4, rng, {.stride = 2, .padding = 1}),
                           nn::ReLU(), nn::Flatten()))),
        mean(add_module("mean", nn::Linear(flat, latent, rng))),
        log_variance(add_module("log_variance", nn::Linear(flat, latent, rng))),
        expand_latent(add_module("expand", nn::Linear(latent, flat, rng))),
        decoder(add_module(
            "decoder",
            nn::Sequential(
                nn::ReLU(),
                nn::ConvTranspose2d(2 * channels, channels, 4, rng, {.stride = 2, .padding = 1}),
                nn::ReLU(),
                nn::ConvTranspose2d(channels, 1, 4, rng, {.stride = 2, .padding = 1})))) {}

  // z f32[n,latent] -> logits f32[n,1,size,size]
  Tensor decode(const Tensor& z) const {
    return decoder(expand_latent(z).view({z.size(0), 2 * channels, corner, corner}));
  }
  // -ELBO of a picture, in nats: reconstruction + KL(N(mean, variance) || N(0, 1)).
  Tensor loss(const Tensor& images) const {
    const Tensor h = encoder(images), mu = mean(h), lv = log_variance(h);
    const Tensor logits = decode(mu + randn_like(mu) * exp(0.5 * lv));
    const Tensor reconstruction =
        binary_cross_entropy_with_logits(logits, images, {.reduction = Reduction::sum});
    const Tensor divergence = -0.5 * sum(1 + lv - square(mu) - exp(lv));
    return (reconstruction + divergence) / static_cast<double>(images.size(0));
  }

  nn::Sequential encoder;
  nn::Linear mean, log_variance, expand_latent;
  nn::Sequential decoder;
};

// Prints the pictures of f32[n,1,size,size] side by side, every second row.
void print(const HostTensor& pictures) {
  for (int64_t y = 0; y < size; y += 2) {
    std::string line;
    for (int64_t i = 0; i < pictures.shape()[0]; ++i)
      for (int64_t x = 0; x < size; ++x)
        line += " .:*#"[static_cast<int>(4.99 * pictures.at<float>({i, 0, y, x}))];
    std::printf("%s\n", line.c_str());
  }
}

int main(int argc, char** argv) {
  example::TrainingRun run(argc, argv, {.steps = 400, .items = batch, .unit = "images"});
  Generator rng(1);
  Vae model(rng);
  TrainStep step = train_step(
      model, [&](const Tensor& images) { return model.loss(images); }, optim::Adam({.lr = 2e-3}),
      {{"images", DType::f32, {batch, 1, size, size}}}, {.compile = {.autocast = run.autocast()}});

  run.begin(model, step);
  while (run.more()) run.step({example::draw_digits(rng, batch)});
  CompiledFunction sample =
      compile(model, [&](const Tensor& z) { return sigmoid(model.decode(z)); },
              {{"z", DType::f32, {5, latent}}});
  std::printf("five digits of the model's own:\n");
  print(sample.run({rng.normal({5, latent})})[0]);
  return run.end(0.6);
}
