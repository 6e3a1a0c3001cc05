// The tables of passes and of named pipelines; the one place that composes
// passes.
#include "passes/pipelines.h"

#include "passes/canonicalize.h"
#include "passes/cse.h"
#include "passes/dce.h"
#include "passes/decompose.h"
#include "passes/fold_constants.h"
#include "passes/functionalize.h"
#include "passes/fuse_concat.h"
#include "passes/fuse_epilogue.h"
#include "passes/fuse_reduction.h"
#include "passes/fuse_vertical.h"
#include "passes/propagate_shapes.h"
#include "passes/reinplace.h"
#include "passes/specialize_symbols.h"

namespace weft {
namespace {

constexpr std::unique_ptr<Pass> (*kPasses[])() = {
    CreateCanonicalizePass,
    CreateCsePass,
    CreateDcePass,
    CreateDecomposePass,
    CreateFoldConstantsPass,
    CreateFunctionalizePass,
    CreateFuseConcatPass,
    CreateFuseEpiloguePass,
    CreateFuseReductionPass,
    CreateFuseVerticalPass,
    CreatePropagateShapesPass,
    CreateReinplacePass,
    CreateSpecializeSymbolsPass,
};

struct PipelineRow {
  const char* name;
  const char* doc;
  const char* text;
};

constexpr PipelineRow kPipelines[] = {
    {"none", "Leaves the module as it is.", ""},
    {"default", "What every target wants; changes no value.",
     "functionalize,dce,fixpoint(propagate_shapes,canonicalize,fold_constants,cse,dce)"},
};

}  // namespace

const PassRegistry& BuiltinPasses() {
  static const PassRegistry& registry = *[] {
    auto* built = new PassRegistry;
    for (auto* factory : kPasses) built->Add(factory);
    for (const PipelineRow& row : kPipelines) {
      built->AddPipeline({row.name, row.doc, row.text});
    }
    return built;
  }();
  return registry;
}

}  // namespace weft
