#include "test/fuzz/misuse/world.h"

#include <limits>
#include <thread>

namespace cleave::misuse {

World::World(uint64_t seed, std::string where) : rng(seed), folder(std::move(where)) {
  for (const char* text : {"x", "y", "h", "weight", "bias", "body.weight", "grad.h", "loss", "a b",
                           "rng", "optimizer.step", "optimizer.lr", "0.weight"})
    texts.add(text);
  Generator numbers(seed);
  arrays.add(numbers.normal({4, 3}));
  arrays.add(numbers.normal({4, 3}));
  arrays.add(numbers.normal({4, 1}));
  arrays.add(numbers.integers({4}, 0, 3));
  Generator g(1);
  const nn::Linear linear(3, 3, g);
  modules.add(linear);
  layers.add([linear](const Tensor& x) { return linear(x); });
}

void World::sweep() {
  arrays.sweep();
  variables.sweep();
  stores.sweep();
  modules.sweep();
  layers.sweep();
  tensors.sweep();
  steps.sweep();
  functions.sweep();
  operators.sweep();
  texts.sweep();
}

int64_t World::size() {
  return maybe(24)
             ? one_of<int64_t>({-1, -7, 70, int64_t{1} << 62, std::numeric_limits<int64_t>::min()})
             : below(5);
}
int64_t World::number() {
  return maybe(16) ? one_of<int64_t>({std::numeric_limits<int64_t>::min(), -100,
                                      std::numeric_limits<int64_t>::max(), int64_t{1} << 20})
                   : below(8) - 2;
}
double World::real() {
  if (maybe(8))
    return one_of<double>({std::numeric_limits<double>::quiet_NaN(), -1, 1e300, -1e-300, 2,
                           std::numeric_limits<double>::infinity(), 1e18, -0.0});
  return static_cast<double>(below(11)) / 10;
}
DType World::dtype() { return maybe(3) ? static_cast<DType>(below(dtype_count)) : DType::f32; }
std::vector<int64_t> World::shape() {
  if (!maybe(3)) return {4, 3};
  std::vector<int64_t> out(static_cast<size_t>(below(4)));
  for (int64_t& d : out) d = size();
  return out;
}
std::vector<int64_t> World::strides(const std::vector<int64_t>& shape) {
  if (maybe(12)) return this->shape();
  std::vector<int64_t> out(shape.size());
  int64_t inner = 1;
  const bool columns = maybe(2);
  for (size_t k = 0; k < out.size(); ++k) {
    const size_t d = columns ? k : out.size() - 1 - k;
    out[d] = maybe(10) ? 0 : maybe(40) ? number() : inner;
    inner *= std::clamp<int64_t>(shape[d], 1, 8) + (maybe(4) ? 1 : 0);
  }
  return out;
}
std::string World::name() {
  if (maybe(12)) return one_of<const char*>({"", " ", "a.b.c", "%", "\n", "\xff", "..", "-"});
  return text();
}
// Nothing is written outside of the folder, whatever takes the path.
std::string World::path() {
  if (maybe(10)) return one_of<std::string>({"", "/dev/null/x", folder, folder + "/a/b"});
  return folder + "/" + std::string(1, static_cast<char>('a' + below(4)));
}

std::string run(uint64_t seed, int actions, const std::string& folder,
                const std::function<void(const std::string&)>& log) {
  std::vector<NamedAction> all;
  for (const auto* list : {&array_actions(), &module_actions(), &tensor_actions(),
                           &program_actions(), &operator_actions(), &file_actions()})
    all.insert(all.end(), list->begin(), list->end());
  World w(seed, folder);
  if (!w.maybe(3)) make_good(w);
  for (int k = 0; k < actions; ++k) {
    // Programs are what all else is for.
    const auto& from = w.maybe(2) ? program_actions() : all;
    const NamedAction& action = from[w.rng() % from.size()];
    const auto wrong = [&](const std::string& what) {
      return "action " + std::to_string(k) + ", " + action.name + ": " + what;
    };
    if (log) log(action.name);
    std::string found;
    const auto act = [&] {
      try {
        action.act(w);
      } catch (const HostThrows&) {
      } catch (const Error& e) {
        if (e.kind() == ErrorKind::bug) found = wrong(std::string("a bug: ") + e.what());
        if (log) log(std::string("  ") + e.what());
      } catch (const std::exception& e) { found = wrong(std::string("throws ") + e.what()); }
    };
    w.maybe(20) ? std::thread(act).join() : act();
    if (!found.empty()) return found;
    w.sweep();
  }
  return "";
}

}  // namespace cleave::misuse
