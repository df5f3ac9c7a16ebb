#include "inspect/html.h"

#include <fmt/format.h>

#include <algorithm>

#include "inspect/markup.h"

namespace cleave {
namespace {

constexpr std::string_view style = R"(
:root { --line: #dfe3e8; --quiet: #667085; --accent: #1f5fbf; }
* { box-sizing: border-box; }
body { margin: 0; font: 14px/1.5 system-ui, Helvetica, Arial, sans-serif; color: #1d2530;
       background: #f5f6f8; }
header { background: #17212e; color: #fff; padding: 26px 0 22px; }
header h1 { margin: 0; font-size: 24px; font-weight: 600; overflow-wrap: anywhere; }
header p { margin: 4px 0 0; color: #b8c4d4; overflow-wrap: anywhere; }
.wide { max-width: 1180px; margin: 0 auto; padding: 0 24px; }
.tiles { display: flex; flex-wrap: wrap; gap: 12px; margin-top: 18px; }
.tile { background: #243244; border-radius: 6px; padding: 10px 16px; min-width: 120px; }
.tile b { display: block; font-size: 20px; font-weight: 600; }
.tile span { color: #b8c4d4; font-size: 12px; }
nav { position: sticky; top: 0; z-index: 2; background: #fff;
      border-bottom: 1px solid var(--line); }
nav a { display: inline-block; padding: 10px 14px 10px 0; color: var(--accent);
        text-decoration: none; }
section { background: #fff; border: 1px solid var(--line); border-radius: 8px; margin: 20px 0;
          padding: 18px 22px 22px; scroll-margin-top: 52px; }
h2 { margin: 0 0 8px; font-size: 19px; }
h3 { margin: 22px 0 6px; font-size: 15px; }
p.note { color: var(--quiet); margin: 4px 0 10px; max-width: 90ch; overflow-wrap: anywhere; }
.drawing { overflow: auto; max-height: 80vh; border: 1px solid var(--line); border-radius: 6px;
           margin: 10px 0; }
.drawing svg { display: block; margin: 0 auto; }
.rows { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th { text-align: left; font-weight: 600; color: var(--quiet); border-bottom: 2px solid var(--line);
     padding: 6px 10px; white-space: nowrap; }
td { border-bottom: 1px solid #eef0f3; padding: 4px 10px; vertical-align: top;
     overflow-wrap: anywhere; min-width: 60px; }
th.r, td.r { text-align: right; white-space: nowrap; }
td.n { font-family: ui-monospace, Menlo, Consolas, monospace; font-size: 12.5px;
       min-width: 20ch; }
td.b { text-align: right; white-space: nowrap; min-width: 130px;
       background: linear-gradient(#cfe0f7, #cfe0f7) no-repeat 0 5px / var(--w) 18px; }
details { margin: 6px 0; }
details details { margin-left: 16px; }
summary { cursor: pointer; color: var(--accent); padding: 3px 0; overflow-wrap: anywhere; }
@media print { nav { display: none; } .drawing { max-height: none; } }
)";

std::string_view class_of(Cell cell) {
  switch (cell) {
    case Cell::name: return " class=\"n\"";
    case Cell::number: return " class=\"r\"";
    case Cell::bar: return " class=\"b\"";
    case Cell::text: break;
  }
  return "";
}

std::string joined(std::vector<std::string>::const_iterator begin,
                   std::vector<std::string>::const_iterator end) {
  std::string out;
  for (; begin != end; ++begin) out += *begin;
  return out;
}

}  // namespace

void HtmlTable::row(const std::vector<std::string>& cells, double share) {
  if (rows_.size() == most_rows) {
    ++left_out_;
    return;
  }
  std::string out = "<tr>";
  for (size_t k = 0; k < columns_.size(); ++k) {
    const Cell cell = columns_[k].cell;
    const std::string width =
        cell == Cell::bar ? fmt::format(" style=\"--w:{:.1f}%\"", 100 * std::clamp(share, 0.0, 1.0))
                          : "";
    out += fmt::format("<td{}{}>{}</td>", class_of(cell), width,
                       k < cells.size() ? markup_text(cells[k]) : "");
  }
  rows_.push_back(out + "</tr>\n");
}

std::string HtmlTable::open() const {
  std::string out = "<div class=\"rows\"><table>\n<thead><tr>";
  for (const Column& c : columns_)
    out += fmt::format("<th{}>{}</th>",
                       c.cell == Cell::number || c.cell == Cell::bar ? " class=\"r\"" : "",
                       markup_text(c.title));
  return out + "</tr></thead>\n<tbody>\n";
}

std::string HtmlTable::finish(size_t shown) const {
  constexpr std::string_view close = "</tbody></table></div>\n";
  // A single row is as long as the line that would hide it.
  const size_t first = rows_.size() <= shown + 1 ? rows_.size() : shown;
  const auto middle = rows_.begin() + static_cast<std::ptrdiff_t>(first);
  std::string out = open() + joined(rows_.begin(), middle) + std::string(close);
  if (first < rows_.size())
    out += html_details(fmt::format("{} more", rows() - first),
                        open() + joined(middle, rows_.end()) + std::string(close));
  if (left_out_ > 0)
    out += html_note(fmt::format("The last {} of these are left out here.", left_out_));
  return out;
}

std::string html_details(std::string_view title, std::string_view body) {
  return fmt::format("<details><summary>{}</summary>\n{}</details>\n", markup_text(title), body);
}

std::string html_note(std::string_view text) {
  return fmt::format("<p class=\"note\">{}</p>\n", markup_text(text));
}

std::string html_drawing(std::string_view svg) {
  return fmt::format("<div class=\"drawing\">{}</div>\n", svg);
}

HtmlPage::HtmlPage(std::string title, std::string subtitle)
    : title_(std::move(title)), subtitle_(std::move(subtitle)) {}

void HtmlPage::tile(std::string_view value, std::string_view what) {
  tiles_ += fmt::format("<div class=\"tile\"><b>{}</b><span>{}</span></div>\n", markup_text(value),
                        markup_text(what));
}

void HtmlPage::section(std::string_view id, std::string_view title) {
  if (in_section_) body_ += "</section>\n";
  in_section_ = true;
  links_ += fmt::format("<a href=\"#{}\">{}</a>\n", id, markup_text(title));
  body_ += fmt::format("<section id=\"{}\">\n<h2>{}</h2>\n", id, markup_text(title));
}

void HtmlPage::heading(std::string_view title) {
  body_ += fmt::format("<h3>{}</h3>\n", markup_text(title));
}

std::string HtmlPage::finish() const {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src data:; "
      "style-src "
      "'unsafe-inline'\">\n<link rel=\"icon\" href=\"data:,\">\n"
      "<title>{0}</title>\n<style>{1}</style>\n</head>\n<body>\n<header><div class=\"wide\">"
      "<h1>{0}</h1>\n<p>{2}</p>\n<div class=\"tiles\">\n{3}</div></div></header>\n"
      "<nav><div class=\"wide\">\n{4}</div></nav>\n<main class=\"wide\">\n{5}{6}</main>\n</body>\n"
      "</html>\n",
      markup_text(title_), style, markup_text(subtitle_), tiles_, links_, body_,
      in_section_ ? "</section>\n" : "");
}

}  // namespace cleave
