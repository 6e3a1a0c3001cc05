// The table of KeyAverages.
#include <algorithm>
#include <cmath>
#include <functional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status_macros.h"
#include "profiler/json_text.h"
#include "profiler/sinks/key_averages.h"

namespace weft::profiler {
namespace {

using Row = KeyAveragesRow;

struct SortKey {
  const char* name;
  double (*value)(const Row&);
};
constexpr SortKey kSortKeys[] = {
    {"self_cpu_time_total", [](const Row& r) { return double(r.self_ns); }},
    {"cpu_time_total", [](const Row& r) { return double(r.total_ns); }},
    {"cpu_time", [](const Row& r) { return double(r.total_ns) / double(r.calls); }},
    {"self_device_time_total", [](const Row& r) { return double(r.self_device_ns); }},
    {"device_time_total", [](const Row& r) { return double(r.device_ns); }},
    {"device_time", [](const Row& r) { return double(r.device_ns) / double(r.calls); }},
    {"median", [](const Row& r) { return double(r.MedianNs()); }},
    {"count", [](const Row& r) { return double(r.calls); }},
    {"self_cpu_memory_usage", [](const Row& r) { return double(r.self_memory); }},
    {"cpu_memory_usage", [](const Row& r) { return double(r.total_memory); }},
    {"flops", [](const Row& r) { return double(r.flops); }},
    {"bytes", [](const Row& r) { return double(r.bytes); }},
};

std::string Percent(double part, double whole) {
  return whole > 0 ? absl::StrFormat("%.2f%%", 100 * part / whole) : "--";
}

// The name on one line, so that a row of the table has one line.
std::string OnOneLine(const std::string& text, size_t width) {
  std::string line;
  AppendJsonString(text, &line);
  line = line.substr(1, line.size() - 2);
  if (text.find('"') != std::string::npos && line.size() < 2 * text.size()) {
    // Removes the backslash before quotes, which the table does not use.
    for (size_t at = 0; (at = line.find("\\\"", at)) != std::string::npos; ++at) line.erase(at, 1);
  }
  if (line.size() <= width) return line;
  size_t end = width > 3 ? width - 3 : 0;
  while (end > 0 && (line[end] & 0xC0) == 0x80) --end;
  return line.substr(0, end) + "...";
}

// Number of characters of UTF-8 text.
size_t WidthOf(const std::string& text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

struct Column {
  std::string title;
  std::function<std::string(const Row&)> cell;
};

// An amount per nanosecond is giga per second.
double Rate(int64_t amount, int64_t nanoseconds) {
  return nanoseconds > 0 ? static_cast<double>(amount) / static_cast<double>(nanoseconds) : 0;
}

// The time that a machine at its limits would take, relative to the row's time.
std::string OfRoofline(const Row& row, const Roofline& roofline) {
  double least_ns = 0;
  if (roofline.gflops_per_second > 0) {
    least_ns = static_cast<double>(row.flops) / roofline.gflops_per_second;
  }
  if (roofline.gbytes_per_second > 0) {
    least_ns = std::max(least_ns, static_cast<double>(row.bytes) / roofline.gbytes_per_second);
  }
  return least_ns > 0 ? Percent(least_ns, static_cast<double>(row.RatedNs())) : "--";
}

// Columns of rows that are steps of a plan.
std::vector<Column> StepColumns(const TableOptions& options, double self_total) {
  const size_t width = static_cast<size_t>(std::max<int64_t>(options.max_name_width, 4));
  return {
      {"Step", [=](const Row& r) { return OnOneLine(r.name, width); }},
      {"Ran by", [=](const Row& r) { return OnOneLine(r.ran_by, width); }},
      {"Source", [=](const Row& r) { return OnOneLine(r.source, width); }},
      {"Self CPU %", [=](const Row& r) { return Percent(double(r.self_ns), self_total); }},
      {"Median", [](const Row& r) { return FormatNanos(double(r.MedianNs())); }},
      {"Self CPU", [](const Row& r) { return FormatNanos(double(r.self_ns)); }},
  };
}

std::vector<Column> TimeColumns(const TableOptions& options, double self_total) {
  const size_t width = static_cast<size_t>(std::max<int64_t>(options.max_name_width, 4));
  return {
      {"Name", [=](const Row& r) { return OnOneLine(r.name, width); }},
      {"Self CPU %", [=](const Row& r) { return Percent(double(r.self_ns), self_total); }},
      {"Self CPU", [](const Row& r) { return FormatNanos(double(r.self_ns)); }},
      {"CPU total %", [=](const Row& r) { return Percent(double(r.total_ns), self_total); }},
      {"CPU total", [](const Row& r) { return FormatNanos(double(r.total_ns)); }},
      {"CPU time avg",
       [](const Row& r) { return FormatNanos(double(r.total_ns) / double(r.calls)); }},
      {"Median", [](const Row& r) { return FormatNanos(double(r.MedianNs())); }},
  };
}

// Device times, in torch's words. Work of a device has a row of its own, and is also part of the
// rows of its causes.
std::vector<Column> DeviceColumns(const std::string& device, double device_total) {
  const auto shown = [](int64_t nanoseconds) {
    return nanoseconds > 0 ? FormatNanos(double(nanoseconds)) : "--";
  };
  return {
      {absl::StrCat("Self ", device), [=](const Row& r) { return shown(r.self_device_ns); }},
      {absl::StrCat("Self ", device, " %"),
       [=](const Row& r) {
         return r.self_device_ns > 0 ? Percent(double(r.self_device_ns), device_total) : "--";
       }},
      {absl::StrCat(device, " total"), [=](const Row& r) { return shown(r.device_ns); }},
      {absl::StrCat(device, " time avg"),
       [=](const Row& r) { return shown(r.device_ns / std::max<int64_t>(r.calls, 1)); }},
  };
}

std::vector<Column> ColumnsFor(const std::vector<Row>& rows, const TableOptions& options,
                               double self_total, const std::string& device, double device_total) {
  const auto any = [&](auto has) { return std::any_of(rows.begin(), rows.end(), has); };
  const Roofline roofline = options.roofline;
  const bool steps = any([](const Row& r) { return !r.ran_by.empty(); });
  std::vector<Column> columns =
      steps ? StepColumns(options, self_total) : TimeColumns(options, self_total);
  if (device_total > 0) {
    const std::vector<Column> more = DeviceColumns(device, device_total);
    columns.insert(columns.end(), more.begin(), more.end());
  }
  if (any([](const Row& r) { return r.total_memory != 0 || r.self_memory != 0; })) {
    columns.push_back({"CPU Mem", [](const Row& r) { return FormatBytes(r.total_memory); }});
    columns.push_back({"Self CPU Mem", [](const Row& r) { return FormatBytes(r.self_memory); }});
  }
  columns.push_back({"# of Calls", [](const Row& r) { return absl::StrCat(r.calls); }});
  if (any([](const Row& r) { return !r.shapes.empty(); })) {
    columns.push_back({"Input Shapes", [](const Row& r) { return OnOneLine(r.shapes, 80); }});
  }
  const bool flops = any([](const Row& r) { return r.flops > 0; });
  const bool bytes = any([](const Row& r) { return r.bytes > 0; });
  if (flops) {
    columns.push_back({"Total MFLOPs", [](const Row& r) {
                         return r.flops > 0 ? absl::StrFormat("%.3f", double(r.flops) / 1e6) : "--";
                       }});
    columns.push_back({"GFLOP/s", [](const Row& r) {
                         return r.flops > 0 ? absl::StrFormat("%.2f", Rate(r.flops, r.RatedNs()))
                                            : "--";
                       }});
  }
  if (bytes) {
    columns.push_back({"GB/s", [](const Row& r) {
                         return r.bytes > 0 ? absl::StrFormat("%.2f", Rate(r.bytes, r.RatedNs()))
                                            : "--";
                       }});
  }
  if ((flops && roofline.gflops_per_second > 0) || (bytes && roofline.gbytes_per_second > 0)) {
    columns.push_back({"Roofline %", [=](const Row& r) { return OfRoofline(r, roofline); }});
  }
  return columns;
}

// Aligns names left and numbers right.
std::string Layout(const std::vector<Column>& columns, const std::vector<Row>& rows) {
  std::vector<std::vector<std::string>> cells(1);
  for (const Column& column : columns) cells[0].push_back(column.title);
  for (const Row& row : rows) {
    cells.emplace_back();
    for (const Column& column : columns) cells.back().push_back(column.cell(row));
  }
  std::vector<size_t> widths(columns.size());
  for (const auto& line : cells) {
    for (size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], WidthOf(line[i]));
  }
  std::string rule;
  for (size_t width : widths) absl::StrAppend(&rule, std::string(width, '-'), "  ");
  rule.append("\n");
  std::string text = rule;
  for (size_t l = 0; l < cells.size(); ++l) {
    for (size_t i = 0; i < widths.size(); ++i) {
      const std::string pad(widths[i] - WidthOf(cells[l][i]), ' ');
      absl::StrAppend(&text, i == 0 ? "" : pad, cells[l][i], i == 0 ? pad : "", "  ");
    }
    text.append("\n");
    if (l == 0) text.append(rule);
  }
  return text + rule;
}

}  // namespace

std::string FormatNanos(double nanoseconds) {
  const double magnitude = std::fabs(nanoseconds);
  if (magnitude >= 1e9) return absl::StrFormat("%.3fs", nanoseconds / 1e9);
  if (magnitude >= 1e6) return absl::StrFormat("%.3fms", nanoseconds / 1e6);
  return absl::StrFormat("%.3fus", nanoseconds / 1e3);
}

std::string FormatBytes(int64_t bytes) {
  const double magnitude = std::fabs(static_cast<double>(bytes));
  if (magnitude >= 1 << 30) return absl::StrFormat("%.2f GB", double(bytes) / (1 << 30));
  if (magnitude >= 1 << 20) return absl::StrFormat("%.2f MB", double(bytes) / (1 << 20));
  if (magnitude >= 1 << 10) return absl::StrFormat("%.2f KB", double(bytes) / (1 << 10));
  return absl::StrCat(bytes, " B");
}

absl::StatusOr<std::vector<Row>> SortRows(std::vector<Row> rows, const std::string& sort_by) {
  if (sort_by.empty()) return rows;
  if (sort_by == "name") {
    std::stable_sort(rows.begin(), rows.end(),
                     [](const Row& a, const Row& b) { return a.name < b.name; });
    return rows;
  }
  std::string known;
  for (const SortKey& key : kSortKeys) {
    absl::StrAppend(&known, key.name, ", ");
    if (sort_by != key.name) continue;
    std::stable_sort(rows.begin(), rows.end(),
                     [&](const Row& a, const Row& b) { return key.value(a) > key.value(b); });
    return rows;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("cannot sort by \"", sort_by, "\"; known: ", known, "name"));
}

absl::StatusOr<std::string> KeyAverages::Table(const TableOptions& options) const {
  WEFT_ASSIGN_OR_RETURN(std::vector<Row> rows, SortRows(rows_, options.sort_by));
  const size_t all = rows.size();
  if (options.row_limit >= 0 && all > static_cast<size_t>(options.row_limit)) {
    rows.resize(static_cast<size_t>(options.row_limit));
  }
  const int64_t self_total = SelfTotal();
  const std::string device = has_devices_ ? "CUDA" : "Device";
  std::string text = Layout(ColumnsFor(rows, options, static_cast<double>(self_total), device,
                                       static_cast<double>(device_total_)),
                            rows);
  if (rows.size() < all) absl::StrAppend(&text, "(", all - rows.size(), " more rows)\n");
  absl::StrAppend(&text, "Self CPU time total: ", FormatNanos(static_cast<double>(self_total)),
                  "\n");
  if (num_warm_up_calls_ > 0) {
    absl::StrAppend(&text, "Calls of the first run, left out: ", num_warm_up_calls_, "\n");
  }
  if (device_total_ > 0) {
    absl::StrAppend(&text, "Self ", device,
                    " time total: ", FormatNanos(static_cast<double>(device_total_)), "\n");
  }
  return text;
}

}  // namespace weft::profiler
