// A timeline as a picture: a row for each depth of each thread, spans as bars with their names
// where these fit.
//
//   thread 0   run           |                                   |
//                            | %h        | %y      |  | %z        |
//                            |  2 pieces |
//   thread 1                 |  6 pieces |
//              0 us                  50                      100
#pragma once
#include <string>

#include "cleave/timeline.h"

namespace cleave {

// The spans of [begin_ns, end_ns), drawn to its ends; nothing is drawn of what takes less than a
// third of a pixel. Empty where there are none.
std::string timeline_drawing(const std::string& title, const std::vector<Timeline::Span>& spans,
                             int64_t begin_ns, int64_t end_ns);

// Windows that are worth a picture: all stages, if they were watched, and the last step of a
// training run, else the last run.
struct TimelinePart {
  std::string title;
  int64_t begin_ns = 0, end_ns = 0;
};
std::vector<TimelinePart> parts_of(const std::vector<Timeline::Span>& spans);

}  // namespace cleave
