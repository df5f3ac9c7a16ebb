#include "inspect/timeline_drawing.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>

#include "inspect/axis.h"
#include "inspect/svg.h"

namespace cleave {
namespace {

using Span = Timeline::Span;

constexpr double width = 1100, left = 90, right = 20, top = 48, row = 20, gap = 10, bottom = 44;
constexpr double text_size = 11;

std::string_view colour_of(const std::string& kind) {
  static const std::map<std::string, std::string_view, std::less<>> colours = {
      {"stage", "#d9c7ea"},  {"run", "#dfe3e8"},         {"step", "#eef0f3"},
      {"kernel", "#f7c98b"}, {"product", "#9ec3ea"},     {"attention", "#a8dba8"},
      {"sort", "#e6b8d4"},   {"convolution", "#8fd3cf"}, {"foreign", "#e5a5a0"},
      {"pieces", "#c3ccd8"}, {"region", "#f3e3b3"}};
  const auto at = colours.find(kind);
  return at == colours.end() ? "#e8e8e8" : at->second;
}

// The name, shortened to what fits; empty where hardly anything does.
std::string fitted(const Span& s, double room) {
  const std::string name = s.pieces > 0 ? fmt::format("{} pieces", s.pieces) : s.name;
  if (Svg::text_width(name, text_size) <= room) return name;
  if (s.pieces > 0) {
    const std::string number = fmt::format("{}", s.pieces);
    return Svg::text_width(number, text_size) <= room ? number : "";
  }
  const auto letters = static_cast<size_t>(std::max(room / Svg::text_width("m", text_size), 0.0));
  if (letters < 7 || name.size() < letters) return "";
  size_t end = letters - 2;  // not inside a character
  while (end > 0 && (static_cast<unsigned char>(name[end]) & 0xc0) == 0x80) --end;
  return name.substr(0, end) + "..";
}

// What the colours mean, of the kinds that are there.
void draw_legend(Svg& svg, const std::vector<Span>& spans, int64_t begin, int64_t end) {
  std::set<std::string> kinds;
  for (const Span& s : spans)
    if (s.end_ns > begin && s.begin_ns < end) kinds.insert(s.kind);
  double x = width - right;
  for (auto kind = kinds.rbegin(); kind != kinds.rend() && x > width / 2; ++kind) {
    x -= Svg::text_width(*kind, text_size);
    svg.text({x, 26}, *kind, text_size, Anchor::start, "#555");
    x -= 18;
    svg.rectangle({x, 16, 13, 12}, colour_of(*kind), {"#aaa", 0.5, ""}, 2);
    x -= 12;
  }
}

struct Placed {
  const Span* span;
  int depth;
};

// The spans of a thread that are in the window, with how deep they are nested in others of it.
std::vector<Placed> nested(const std::vector<Span>& spans, int thread, int64_t begin, int64_t end) {
  std::vector<Placed> out;
  std::vector<int64_t> open;  // ends
  for (const Span& s : spans) {
    if (s.thread != thread || s.end_ns <= begin || s.begin_ns >= end) continue;
    while (!open.empty() && open.back() <= s.begin_ns) open.pop_back();
    out.push_back({&s, static_cast<int>(open.size())});
    open.push_back(s.end_ns);
  }
  return out;
}

}  // namespace

std::string timeline_drawing(const std::string& title, const std::vector<Span>& spans,
                             int64_t begin_ns, int64_t end_ns) {
  struct Lane {
    int thread;
    std::vector<Placed> placed;
    int rows = 0;
  };
  std::vector<Lane> lanes;
  double height = top + bottom;
  for (const Span& s : spans) {
    if (!lanes.empty() && lanes.back().thread == s.thread) continue;
    Lane lane{.thread = s.thread, .placed = nested(spans, s.thread, begin_ns, end_ns)};
    for (const Placed& p : lane.placed) lane.rows = std::max(lane.rows, p.depth + 1);
    lanes.push_back(std::move(lane));
  }
  std::erase_if(lanes, [](const Lane& lane) { return lane.rows == 0; });
  if (lanes.empty()) return "";
  for (const Lane& lane : lanes) height += lane.rows * row + gap;
  const auto at = [&](int64_t ns) {
    const double share = static_cast<double>(std::clamp(ns, begin_ns, end_ns) - begin_ns) /
                         static_cast<double>(std::max<int64_t>(end_ns - begin_ns, 1));
    return left + share * (width - left - right);
  };
  Svg svg(width, height);
  svg.text({left, 26}, title, 15);
  draw_legend(svg, spans, begin_ns, end_ns);
  // Time, from the window's begin to its end.
  for (int k = 0; k <= 4; ++k) {
    const int64_t ns = begin_ns + (end_ns - begin_ns) * k / 4;
    svg.line({at(ns), top - 6}, {at(ns), height - bottom + 4}, {"#e4e4e4", 1, ""});
    svg.text({at(ns), height - bottom + 20}, time_text(ns - begin_ns), text_size,
             k == 0   ? Anchor::start
             : k == 4 ? Anchor::end
                      : Anchor::middle,
             "#555");
  }
  double y = top;
  for (const Lane& lane : lanes) {
    svg.text({10, y + 14}, fmt::format("thread {}", lane.thread), text_size, Anchor::start, "#555");
    for (const Placed& p : lane.placed) {
      const double from = at(p.span->begin_ns), to = at(p.span->end_ns);
      if (to - from < 0.33) continue;
      svg.rectangle({from, y + p.depth * row, to - from, row - 3}, colour_of(p.span->kind),
                    {"white", 0.5, ""}, 1.5);
      if (const std::string text = fitted(*p.span, to - from - 6); !text.empty())
        svg.text({from + 3, y + p.depth * row + 12.5}, text, text_size);
    }
    y += lane.rows * row + gap;
  }
  return svg.finish();
}

std::vector<TimelinePart> parts_of(const std::vector<Span>& spans) {
  std::vector<TimelinePart> out;
  const Span *first = nullptr, *last = nullptr, *run = nullptr;
  const bool steps = std::ranges::count(spans, "step", &Span::kind) > 0;
  for (const Span& s : spans) {
    if (s.kind == "stage") {
      if (first == nullptr || s.begin_ns < first->begin_ns) first = &s;
      if (last == nullptr || s.end_ns > last->end_ns) last = &s;
    }
    if (s.kind == (steps ? "step" : "run") && (run == nullptr || s.begin_ns > run->begin_ns))
      run = &s;
  }
  if (first != nullptr) out.push_back({"Compiling", first->begin_ns, last->end_ns});
  if (run != nullptr)
    out.push_back({steps ? "The last step" : "The last run", run->begin_ns, run->end_ns});
  return out;
}

}  // namespace cleave
