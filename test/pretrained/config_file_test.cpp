// Fields of config.json: defaults, what is refused, and where it stands.
#include "pretrained/config_file.h"

#include "test/pretrained/small.h"

namespace cleave::pretrained {
namespace {

using test::TempFolder;

ConfigFile parsed(const std::string& text) {
  return value_or_throw(ConfigFile::from_text(text, "config.json"));
}
template <class T>
std::string failure(const Result<T>& r) {
  if (r.ok()) return "no error";
  return (r.failure().kind == ErrorKind::unsupported ? "unsupported: " : "") + r.failure().message;
}

TEST(ConfigFile, values_and_defaults) {
  const ConfigFile file = parsed(R"({"a": 3, "b": null, "c": 2.5, "d": true, "e": "x"})");
  const Fields& f = file.fields();
  EXPECT_EQ(*f.size("a", 7), 3);
  EXPECT_EQ(*f.size("b", 7), 7);
  EXPECT_EQ(*f.size("absent", 7), 7);
  EXPECT_EQ(*f.maybe_size("b"), std::nullopt);
  EXPECT_TRUE(f.is_null("b"));
  EXPECT_FALSE(f.is_null("absent"));
  EXPECT_EQ(*f.number("c", 1), 2.5);
  EXPECT_EQ(*f.number("a", 1), 3);
  EXPECT_EQ(*f.number("absent", 1), 1);
  EXPECT_TRUE(*f.flag("d", false));
  EXPECT_TRUE(*f.flag("absent", true));
  EXPECT_EQ(*f.text("e", "y"), "x");
  EXPECT_EQ(*f.text("absent", "y"), "y");
}

TEST(ConfigFile, values_of_another_type) {
  const ConfigFile file =
      parsed(R"({"a": 0, "b": 2147483648, "c": 1.5, "d": "x", "e": [1], "f": -2})");
  const Fields& f = file.fields();
  const std::string range = ", expected an integer from 1 to 2147483647";
  EXPECT_EQ(failure(f.size("a", 1)), "a is 0" + range);
  EXPECT_EQ(failure(f.size("b", 1)), "b is 2147483648" + range);
  EXPECT_EQ(failure(f.size("f", 1)), "f is -2" + range);
  EXPECT_EQ(failure(f.size("c", 1)), "c is 1.5, expected an integer");
  EXPECT_EQ(failure(f.size("e", 1)), "e is [1], expected an integer");
  EXPECT_EQ(failure(f.number("d", 1)), "d is \"x\", expected a number");
  EXPECT_EQ(failure(f.flag("a", true)), "a is 0, expected true or false");
  EXPECT_EQ(failure(f.text("a", "")), "a is 0, expected a text");
  EXPECT_EQ(failure(f.positive("f", 1)), "f is -2, expected a number above 0");
  EXPECT_EQ(failure(f.object("e")), "e is [1], expected an object");
}

TEST(ConfigFile, one_value_is_covered) {
  const ConfigFile file = parsed(
      R"({"a": "absolute", "b": "other", "no": false, "none": {}, "yes": true, "o": {"x": 1}})");
  const Fields& f = file.fields();
  EXPECT_TRUE(f.only("a", "absolute").ok());
  EXPECT_TRUE(f.only("absent", "absolute").ok());
  EXPECT_EQ(failure(f.only("b", "absolute")),
            "unsupported: b is \"other\", cleave has \"absolute\" alone");
  for (const char* key : {"no", "none", "absent"}) EXPECT_TRUE(f.only_empty(key).ok()) << key;
  EXPECT_EQ(failure(f.only_empty("yes")),
            "unsupported: yes is true, cleave has models without it alone");
  const Fields inner = **f.object("o");
  EXPECT_TRUE(inner.only_members({"x", "y"}).ok());
  EXPECT_EQ(failure(inner.only_members({"y"})),
            "unsupported: o.\"x\" is 1, cleave has models without it alone");
  EXPECT_EQ(failure(inner.flag("x", false)), "o.x is 1, expected true or false");
  const ConfigFile twice = parsed(R"({"o": {"x": 1, "x": 2}})");
  EXPECT_EQ(failure(twice.fields().object("o")), "o: \"x\" occurs twice");
}

TEST(ConfigFile, probabilities) {
  ConfigFile file = parsed(R"({"p": 0.25, "q": 1.5})");
  EXPECT_EQ(*file.probability("p", 0.1), 0.25);
  EXPECT_EQ(*file.probability("absent", 0.1), 0.1);
  EXPECT_EQ(failure(file.probability("q", 0)), "q is 1.5, expected a probability from 0 to 1");
  file.set_dropout(0.5);
  EXPECT_EQ(*file.probability("p", 0.1), 0.5);
  EXPECT_EQ(*file.probability("absent", 0.1), 0.5);
  file.set_dropout(-1);
  EXPECT_EQ(failure(file.probability("p", 0)), "dropout is -1, expected a probability from 0 to 1");
}

TEST(ConfigFile, texts_that_are_none) {
  const auto refusal = [](const std::string& text) {
    return failure(ConfigFile::from_text(text, "c.json"));
  };
  EXPECT_EQ(refusal("[]"), "c.json: expected an object of fields, as transformers writes it");
  EXPECT_EQ(refusal("{\"a\": 1, \"a\": 2}"), "c.json: \"a\" occurs twice");
  EXPECT_EQ(refusal("{").substr(0, 14), "c.json: JSON: ");
  EXPECT_EQ(refusal("").substr(0, 14), "c.json: JSON: ");
  std::string deep = "{\"a\": ";
  for (int i = 0; i < 100; ++i) deep += '[';
  EXPECT_EQ(refusal(deep).substr(0, 14), "c.json: JSON: ");
}

TEST(ConfigFile, a_file_or_its_folder) {
  const TempFolder folder;
  const std::string path = folder.put("config.json", R"({"a": 3})");
  EXPECT_EQ(ConfigFile::read(folder.path())->path(), path);
  EXPECT_EQ(*ConfigFile::read(path)->fields().size("a", 1), 3);
  EXPECT_EQ(failure(ConfigFile::read(folder / "other.json")),
            folder / "other.json: open: No such file or directory");
  std::filesystem::remove(path);
  EXPECT_EQ(failure(ConfigFile::read(folder.path())), path + ": open: No such file or directory");
  EXPECT_EQ(failure(ConfigFile::read("/dev/zero")), "/dev/zero: it is no regular file");
}

}  // namespace
}  // namespace cleave::pretrained
