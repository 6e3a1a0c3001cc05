// Errors of a model layer by layer, as text, JSON and one HTML page: what quantization gave, or
// the difference of two models.
#ifndef WEFT_API_INSPECT_LAYER_REPORT_H_
#define WEFT_API_INSPECT_LAYER_REPORT_H_

#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace weft {

struct LayerRow {
  // Names of the source nodes, joined by ','.
  std::string name;
  std::string op;
  std::string state;   // "quantized", "float", ...; empty where there is nothing to tell apart.
  std::string reason;  // Why it is so, or empty.
  // Ratio of signal to noise in dB, infinite for equal values; the cosine of the angle between
  // both; the largest difference. NaN: not measured.
  double sqnr_db = std::nan("");
  double cosine = std::nan("");
  double max_error = std::nan("");
  int64_t bytes_before = 0;
  int64_t bytes_after = 0;
};

struct LayerReport {
  std::string title;
  // Names and values about the whole model, such as ("policy", "x86").
  std::vector<std::pair<std::string, std::string>> facts;
  // In the order of the model.
  std::vector<LayerRow> rows;
};

// Columns that no row has anything in are left out.
std::string ToTable(const LayerReport& report);
// Numbers that were not measured are null; infinite ones are the strings "inf" and "-inf".
std::string ToJson(const LayerReport& report);
// A table that can be sorted by each column, and below it `picture`, a page of its own
// (GraphRecorder::Html), or nothing where that is empty. Opens offline.
std::string ToHtml(const LayerReport& report, const std::string& picture);

}  // namespace weft

#endif  // WEFT_API_INSPECT_LAYER_REPORT_H_
