#include "api/check/pass_run.h"

#include <algorithm>
#include <utility>

namespace weft {
namespace {

// Recursion depth is the nesting depth of the pipeline.
void Collect(const std::vector<Pipeline::Step>& steps, absl::string_view name,
             std::vector<Pass*>* passes) {
  for (const Pipeline::Step& step : steps) {
    if (step.pass == nullptr) {
      Collect(step.steps, name, passes);
    } else if (step.pass->name() == name) {
      passes->push_back(step.pass.get());
    }
  }
}

std::string TextOf(Pass& pass, const PassRegistry& registry) {
  std::unique_ptr<Pass> copy = registry.Create(pass.name());
  if (copy == nullptr) return std::string(pass.name());
  for (const PassOption& option : OptionsOf(pass)) {
    if (!SetOption(*copy, option.name, option.value).ok()) break;
  }
  Pipeline alone;
  alone.Add(std::move(copy));
  return alone.ToString(registry);
}

}  // namespace

PassRunResult RunOnClone(const Module& before, const PassRun& run, int64_t limit) {
  PassRunResult result;
  result.after = before.Clone();
  result.ids = NodeIdsOf(*result.after);
  auto pipeline =
      Pipeline::Parse(run.passes, run.registry != nullptr ? *run.registry : BuiltinPasses());
  result.status = pipeline.status();
  if (!pipeline.ok()) return result;
  PassContext::Options options = run.context;
  options.rewrite_limit = limit;
  PassContext context(options);
  PassManagerOptions manager_options;
  manager_options.count_ops = false;
  result.status = PassManager(*std::move(pipeline), std::move(manager_options))
                      .Run(*result.after, context, &result.report);
  for (const PassReport& pass : result.report.passes) {
    result.fired = std::max(result.fired, pass.fired);
  }
  result.remarks = context.TakeRemarks();
  result.rewrites = context.num_rewrites();
  result.last_contract = context.last_rewrite().contract;
  result.last_rule = context.last_rewrite().Name();
  return result;
}

std::vector<std::string> PassTexts(const Pipeline& pipeline, absl::string_view name,
                                   const PassRegistry& registry) {
  std::vector<Pass*> passes;
  Collect(pipeline.steps(), name, &passes);
  std::vector<std::string> texts;
  for (Pass* pass : passes) {
    std::string text = TextOf(*pass, registry);
    if (std::find(texts.begin(), texts.end(), text) == texts.end()) {
      texts.push_back(std::move(text));
    }
  }
  return texts;
}

}  // namespace weft
