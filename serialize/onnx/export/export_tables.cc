#include "serialize/onnx/export/export_tables.h"

#include "absl/container/flat_hash_map.h"
#include "base/check.h"
#include "graph/ir/builtin_ops.h"
#include "graph/ir/op_def.h"
#include "graph/ir/op_registry.h"
#include "graph/ops/registry.h"
#include "serialize/onnx/export/export.h"

namespace weft {
namespace onnx_export {
namespace {

using Index = absl::flat_hash_map<const OpDef*, const ExportEntry*>;

const Index& EntriesByOp() {
  static const Index& index = *[] {
    auto* entries = new Index();
    for (const auto table :
         {AbsentExports(), ActivationExports(), BinaryExports(), ControlExports(), EinsumExports(),
          ElementwiseExports(), IndexExports(), NnExports(), PoolExports(), QuantExports(),
          RecurrentExports(), ReduceExports(), ShapeExports(), SignalExports(), ViewExports(),
          VisionExports()}) {
      for (const ExportEntry& entry : table) {
        WEFT_CHECK(entries->emplace(entry.op, &entry).second)
            << entry.op->name() << " has two exports";
      }
    }
    return entries;
  }();
  return index;
}

}  // namespace

const ExportEntry* FindExport(const OpDef& op) {
  const Index& entries = EntriesByOp();
  auto it = entries.find(&op);
  return it == entries.end() ? nullptr : it->second;
}

}  // namespace onnx_export

std::vector<OnnxExportSupport> OnnxExportCoverage() {
  using Form = OnnxExportSupport::Form;
  std::vector<OnnxExportSupport> coverage;
  for (const OpDef* op : ops::Registry().All()) {
    OnnxExportSupport support;
    support.op = std::string(op->name());
    const auto* entry = onnx_export::FindExport(*op);
    if (op == &ops::constant || op == &ops::return_) {
      support.form = Form::kOperators;
    } else if (entry != nullptr) {
      const bool decomposes = op->decompose() != nullptr && !op->writes();
      support.form = entry->fn != nullptr ? Form::kOperators
                     : decomposes         ? Form::kDecomposed
                                          : Form::kNone;
      support.limits = entry->limits;
    } else if (op->decompose() != nullptr) {
      support.form = Form::kDecomposed;
    }
    coverage.push_back(std::move(support));
  }
  return coverage;
}

}  // namespace weft
