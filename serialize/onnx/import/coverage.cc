// The part of the ONNX specification that is imported.
#include <algorithm>
#include <iterator>
#include <set>
#include <tuple>

#include "onnx/defs/schema.h"
#include "serialize/onnx/import/import_model.h"
#include "serialize/onnx/import/import_tables.h"
#include "serialize/onnx/import/onnx.h"

namespace weft {
namespace {

constexpr int kFirstOpset = 6;

using Key = std::tuple<std::string, std::string, int>;

// The versions in libonnx's schemas that a model of opset 6 or later can use.
std::set<Key> SchemaVersions() {
  std::map<std::pair<std::string, std::string>, std::set<int>> versions;
  for (const ::onnx::OpSchema& schema : ::onnx::OpSchemaRegistry::get_all_schemas_with_history()) {
    if (schema.Deprecated()) continue;  // It is removed from this version on.
    const std::string domain = onnx_import::NormalizeDomain(schema.domain());
    versions[{domain, schema.Name()}].insert(schema.SinceVersion());
  }
  std::set<Key> keys;
  for (const auto& [op, all] : versions) {
    for (auto it = all.begin(); it != all.end(); ++it) {
      // Replaced by a newer version before opset 6.
      auto next = std::next(it);
      if (op.first.empty() && next != all.end() && *next <= kFirstOpset) {
        continue;
      }
      keys.insert({op.first, op.second, *it});
    }
  }
  return keys;
}

}  // namespace

std::vector<OnnxOperatorSupport> OnnxCoverage() {
  std::set<Key> keys = SchemaVersions();
  std::set<Key> imported;
  for (absl::Span<const onnx_import::OnnxOp> table : onnx_import::AllTables()) {
    for (const onnx_import::OnnxOp& op : table) {
      for (int version : op.versions) {
        if (version == 0) break;
        imported.insert({op.domain, op.op_type, version});
      }
    }
  }
  keys.insert(imported.begin(), imported.end());
  std::vector<OnnxOperatorSupport> report;
  for (const Key& key : keys) {
    OnnxOperatorSupport entry;
    std::tie(entry.domain, entry.op_type, entry.since_version) = key;
    entry.imported = imported.count(key) > 0;
    if (!entry.imported) {
      entry.reason = std::string(onnx_import::ReasonForAbsence(entry.domain, entry.op_type));
      if (entry.reason.empty()) entry.reason = "not written";
    }
    report.push_back(std::move(entry));
  }
  return report;
}

}  // namespace weft
