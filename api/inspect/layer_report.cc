#include "api/inspect/layer_report.h"

#include <algorithm>
#include <functional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "base/printable.h"
#include "nlohmann/json.hpp"

namespace weft {
namespace {

struct Column {
  const char* title;
  const char* key;
  bool is_number;
  // Empty: the row has nothing there.
  std::function<std::string(const LayerRow&)> text;
  // The number that the page sorts by.
  std::function<double(const LayerRow&)> value = nullptr;
};

// "" for what was not measured.
std::string Number(double value, int digits) {
  if (std::isnan(value)) return "";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return absl::StrFormat("%.*g", digits, value);
}

std::string Decibels(double value) {
  return std::isfinite(value) ? absl::StrFormat("%.1f", value) : Number(value, 1);
}

std::string Bytes(int64_t bytes) { return bytes == 0 ? "" : absl::StrCat(bytes); }

const std::vector<Column>& AllColumns() {
  static const auto& columns = *new std::vector<Column>{
      {"layer", "name", false, [](const LayerRow& r) { return PrintableName(r.name); }},
      {"op", "op", false, [](const LayerRow& r) { return r.op; }},
      {"state", "state", false, [](const LayerRow& r) { return r.state; }},
      {"SQNR dB", "sqnr_db", true, [](const LayerRow& r) { return Decibels(r.sqnr_db); },
       [](const LayerRow& r) { return r.sqnr_db; }},
      {"cosine", "cosine", true, [](const LayerRow& r) { return Number(r.cosine, 6); },
       [](const LayerRow& r) { return r.cosine; }},
      {"max error", "max_error", true, [](const LayerRow& r) { return Number(r.max_error, 3); },
       [](const LayerRow& r) { return r.max_error; }},
      {"bytes before", "bytes_before", true,
       [](const LayerRow& r) { return Bytes(r.bytes_before); },
       [](const LayerRow& r) { return static_cast<double>(r.bytes_before); }},
      {"bytes after", "bytes_after", true, [](const LayerRow& r) { return Bytes(r.bytes_after); },
       [](const LayerRow& r) { return static_cast<double>(r.bytes_after); }},
      {"why", "reason", false, [](const LayerRow& r) { return PrintableName(r.reason); }},
  };
  return columns;
}

std::vector<const Column*> UsedColumns(const LayerReport& report) {
  std::vector<const Column*> used;
  for (const Column& column : AllColumns()) {
    const bool any = std::any_of(report.rows.begin(), report.rows.end(),
                                 [&](const LayerRow& row) { return !column.text(row).empty(); });
    if (any) used.push_back(&column);
  }
  return used;
}

nlohmann::ordered_json JsonNumber(double value) {
  if (std::isnan(value)) return nullptr;
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return value;
}

std::string Escaped(absl::string_view text) {
  return absl::StrReplaceAll(
      text, {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"\"", "&quot;"}, {"'", "&#39;"}});
}

constexpr char kHead[] = R"(<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">
<style>
body { font: 14px sans-serif; margin: 16px; color: #222; }
table { border-collapse: collapse; }
th { cursor: pointer; text-align: left; position: sticky; top: 0; background: #fff; }
th, td { padding: 3px 10px; border-bottom: 1px solid #ddd; }
td.n { text-align: right; font-variant-numeric: tabular-nums; }
dt { float: left; clear: left; width: 10em; color: #666; }
.rows { max-height: 60vh; overflow: auto; }
iframe { width: 100%; height: 85vh; border: 1px solid #ccc; margin-top: 16px; }
</style>
)";

// Sorts by a column: by `data-v` where cells have it. A second click turns the order round.
constexpr char kScript[] = R"(<script>
'use strict';
const body = document.querySelector('tbody');
[...document.querySelectorAll('th')].forEach((head, column) => {
  let sign = -1;
  head.addEventListener('click', () => {
    sign = -sign;
    const value = (row) => {
      const cell = row.children[column];
      if (!cell.classList.contains('n')) return cell.textContent;
      return cell.dataset.v === '' ? NaN : Number(cell.dataset.v);
    };
    const compare = (a, b) => {
      const x = value(a), y = value(b);
      if (x !== x || y !== y) return (x !== x) - (y !== y);  // Not measured: last.
      return x < y ? -sign : x > y ? sign : 0;
    };
    body.append(...[...body.children].sort(compare));
  });
});
</script>
)";

std::string Cell(const Column& column, const LayerRow& row) {
  const std::string text = Escaped(column.text(row));
  if (!column.is_number) return absl::StrCat("<td>", text, "</td>");
  const double value = column.value(row);
  std::string sorted;
  if (std::isinf(value)) sorted = value > 0 ? "Infinity" : "-Infinity";
  if (std::isfinite(value)) sorted = absl::StrCat(value);
  return absl::StrCat("<td class=\"n\" data-v=\"", sorted, "\">", text, "</td>");
}

}  // namespace

std::string ToTable(const LayerReport& report) {
  const std::vector<const Column*> columns = UsedColumns(report);
  std::vector<size_t> widths;
  for (const Column* column : columns) {
    size_t width = std::string(column->title).size();
    for (const LayerRow& row : report.rows) width = std::max(width, column->text(row).size());
    widths.push_back(width);
  }
  std::string table;
  const auto line = [&](const std::function<std::string(const Column&)>& text) {
    std::string cells;
    for (size_t i = 0; i < columns.size(); ++i) {
      const std::string cell = text(*columns[i]);
      const std::string blanks(widths[i] - std::min(widths[i], cell.size()), ' ');
      absl::StrAppend(&cells, i == 0 ? "" : "  ",
                      columns[i]->is_number ? blanks + cell : cell + blanks);
    }
    while (!cells.empty() && cells.back() == ' ') cells.pop_back();
    absl::StrAppend(&table, cells, "\n");
  };
  line([](const Column& column) { return std::string(column.title); });
  for (const LayerRow& row : report.rows) {
    line([&](const Column& column) { return column.text(row); });
  }
  return table;
}

std::string ToJson(const LayerReport& report) {
  nlohmann::ordered_json json;
  json["title"] = report.title;
  for (const auto& [name, value] : report.facts) json["facts"][name] = value;
  json["layers"] = nlohmann::ordered_json::array();
  for (const LayerRow& row : report.rows) {
    nlohmann::ordered_json layer;
    layer["name"] = row.name;
    layer["op"] = row.op;
    layer["state"] = row.state;
    layer["reason"] = row.reason;
    layer["sqnr_db"] = JsonNumber(row.sqnr_db);
    layer["cosine"] = JsonNumber(row.cosine);
    layer["max_error"] = JsonNumber(row.max_error);
    layer["bytes_before"] = row.bytes_before;
    layer["bytes_after"] = row.bytes_after;
    json["layers"].push_back(std::move(layer));
  }
  // Names of models may be any bytes.
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

std::string ToHtml(const LayerReport& report, const std::string& picture) {
  std::string page = kHead;
  absl::StrAppend(&page, "<title>", Escaped(report.title), "</title></head><body>\n<h1>",
                  Escaped(report.title), "</h1>\n<dl>\n");
  for (const auto& [name, value] : report.facts) {
    absl::StrAppend(&page, "<dt>", Escaped(name), "</dt><dd>", Escaped(value), "</dd>\n");
  }
  absl::StrAppend(&page, "</dl>\n<div class=\"rows\"><table><thead><tr>");
  const std::vector<const Column*> columns = UsedColumns(report);
  for (const Column* column : columns) absl::StrAppend(&page, "<th>", column->title, "</th>");
  absl::StrAppend(&page, "</tr></thead><tbody>\n");
  for (const LayerRow& row : report.rows) {
    absl::StrAppend(&page, "<tr>");
    for (const Column* column : columns) absl::StrAppend(&page, Cell(*column, row));
    absl::StrAppend(&page, "</tr>\n");
  }
  absl::StrAppend(&page, "</tbody></table></div>\n", kScript);
  if (!picture.empty()) {
    absl::StrAppend(&page, "<iframe sandbox=\"allow-scripts\" srcdoc=\"", Escaped(picture),
                    "\"></iframe>\n");
  }
  absl::StrAppend(&page, "</body></html>\n");
  return page;
}

}  // namespace weft
