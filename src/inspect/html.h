// A page of HTML in one file that loads nothing: sections with tables and drawings.
//
//   HtmlPage page("gpt.clv");
//   page.section("kernels", "Kernels");
//   HtmlTable table({{"name"}, {"time", Cell::bar}, {"bytes", Cell::number}});
//   table.row({"%h", "12.5 us", "4 KiB"}, 0.8);
//   page.add(table.finish(40));        // the rows beyond 40 are folded away
//   std::string text = page.finish();
//
// Cells, titles and notes are plain text, which is escaped here; add() takes HTML as it is.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace cleave {

enum class Cell : uint8_t {
  text,
  name,    // of a value or an operator: a fixed width
  number,  // to the right
  bar,     // a number with a bar behind it, whose length is the row's share
};

struct Column {
  std::string title;
  Cell cell = Cell::text;
};

class HtmlTable {
 public:
  static constexpr size_t most_rows = 4000;

  explicit HtmlTable(std::vector<Column> columns) : columns_(std::move(columns)) {}
  // A text for each column; `share` in [0, 1] is the length of its bar.
  void row(const std::vector<std::string>& cells, double share = 0);
  size_t rows() const { return rows_.size() + left_out_; }
  // Rows beyond the first `shown` are in a part that opens at a click; beyond the first most_rows
  // they are counted.
  std::string finish(size_t shown = 30) const;

 private:
  std::string open() const;
  std::vector<Column> columns_;
  std::vector<std::string> rows_;
  size_t left_out_ = 0;
};

// Folded away until it is opened; `title` is text, `body` HTML.
std::string html_details(std::string_view title, std::string_view body);
std::string html_note(std::string_view text);
// A drawing that may be wider than the page.
std::string html_drawing(std::string_view svg);

class HtmlPage {
 public:
  HtmlPage(std::string title, std::string subtitle);
  // A number of the overview at the top, with what it is.
  void tile(std::string_view value, std::string_view what);
  // Begins a section; `id` is its address in the page.
  void section(std::string_view id, std::string_view title);
  void heading(std::string_view title);  // within a section
  void note(std::string_view text) { add(html_note(text)); }
  void add(std::string_view html) { body_ += html; }
  std::string finish() const;

 private:
  std::string title_, subtitle_, tiles_, links_, body_;
  bool in_section_ = false;
};

}  // namespace cleave
