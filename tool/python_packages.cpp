#include "tool/python_packages.h"

#include <algorithm>
#include <sstream>

#include "runtime/subprocess.h"

namespace cleave::tool {
namespace {

// Lines of a word and its value. The current folder, which `-c` puts first, is left out.
constexpr const char* question = R"(
import sys
sys.path = [p for p in sys.path if p]
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
print('python', '%d.%d.%d' % sys.version_info[:3])
for name in ('torch', 'numpy'):
    try: print(name, version(name))
    except PackageNotFoundError: pass
if find_spec('cleave'):
    try:
        import cleave
        print('cleave', cleave.__version__)
    except Exception as e: print('broken', ' '.join(str(e).split()))
)";

}  // namespace

Result<PythonPackages> python_packages() {
  CLEAVE_TRY(const runtime::Finished asked, runtime::run_program({"python3", "-c", question}));
  PythonPackages out;
  std::istringstream lines(asked.messages);
  for (std::string line; std::getline(lines, line);) {
    const size_t space = std::min(line.find(' '), line.size());
    const std::string word = line.substr(0, space);
    const std::string value = line.substr(std::min(space + 1, line.size()));
    if (word == "python") out.python = value;
    if (word == "broken") out.broken = value;
    if (word == "torch" || word == "numpy" || word == "cleave") out.versions[word] = value;
  }
  if (out.python.empty())
    return unsupported("python3 ends with status {}: {}", asked.exit_status,
                       asked.messages.substr(0, 200));
  return out;
}

}  // namespace cleave::tool
