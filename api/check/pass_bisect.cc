#include "api/check/pass_bisect.h"

#include <limits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "passes/engine/pass_context.h"
#include "passes/engine/pass_manager.h"
#include "passes/pipelines.h"
#include "passes/sizes/needs.h"

namespace weft {
namespace {

constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max();

// A run of a pass that changed something.
struct Change {
  std::string path;
  std::string text;
  int index = -1;
  int64_t rewrites = 0;  // Of all passes so far.
};

struct Stretch {
  std::unique_ptr<Module> after;
  std::vector<Change> changes;
  std::string last_rule;
};

class Search {
 public:
  Search(const Module& module, const PassRun& run, const ModuleTest& faulty,
         const PassBisectOptions& options)
      : module_(module), run_(run), faulty_(faulty), options_(options) {}

  absl::StatusOr<GuiltyPass> Find() {
    WEFT_ASSIGN_OR_RETURN(Stretch whole, RunTo(std::numeric_limits<int>::max(), kNoLimit));
    changes_ = std::move(whole.changes);
    guilty_.changes = static_cast<int64_t>(changes_.size());
    WEFT_ASSIGN_OR_RETURN(Stretch start, RunTo(-1, kNoLimit));
    WEFT_ASSIGN_OR_RETURN(const bool begins, Test(*start.after, "before the first pass"));
    if (begins) return absl::FailedPreconditionError("it is there before the first pass");
    WEFT_ASSIGN_OR_RETURN(const bool ends, Test(*whole.after, "after the last pass"));
    if (!ends) return absl::NotFoundError("it is not there after the last pass");
    WEFT_RETURN_IF_ERROR(FindPass());
    WEFT_RETURN_IF_ERROR(FindRewrite());
    return std::move(guilty_);
  }

 private:
  // Runs the pipeline on a clone up to and including the pass with that index; -1: none.
  absl::StatusOr<Stretch> RunTo(int last, int64_t rewrite_limit) const {
    const PassRegistry& registry = run_.registry != nullptr ? *run_.registry : BuiltinPasses();
    WEFT_ASSIGN_OR_RETURN(Pipeline pipeline, Pipeline::Parse(run_.passes, registry));
    Stretch stretch;
    stretch.after = module_.Clone();
    WEFT_RETURN_IF_ERROR(AssumeSizesOfNodes(*stretch.after).status());
    if (last < 0) return stretch;
    // A limit, even one that is never reached, keeps the manager from skipping passes by the marks
    // of graphs, so that all runs number their passes and rewrites alike.
    PassContext::Options context_options = run_.context;
    context_options.rewrite_limit = rewrite_limit;
    PassContext context(context_options);
    bool stopped = false;
    PassManagerOptions manager;
    manager.count_ops = false;
    manager.hooks.after_pass = [&](const PassReport& report, const Module*,
                                   const Module&) -> absl::Status {
      if (report.changed) {
        stretch.changes.push_back({report.path, report.text, report.index, context.num_rewrites()});
      }
      stopped = report.index >= last;
      return stopped ? absl::CancelledError("the end of the stretch") : absl::OkStatus();
    };
    const absl::Status status =
        PassManager(std::move(pipeline), std::move(manager)).Run(*stretch.after, context);
    // The codes of this search's own errors say something else.
    if (!stopped && !status.ok()) return absl::InternalError(status.message());
    stretch.last_rule = context.last_rewrite().Name();
    return stretch;
  }

  absl::StatusOr<bool> Test(const Module& module, absl::string_view what) {
    if (options_.progress) options_.progress(what);
    ++guilty_.tests;
    return faulty_(module);
  }

  // Bisects on the changes: state i is the module after the first i of them.
  absl::Status FindPass() {
    size_t good = 0, bad = changes_.size();
    while (bad - good > 1) {
      const size_t middle = good + (bad - good) / 2;
      const Change& change = changes_[middle - 1];
      WEFT_ASSIGN_OR_RETURN(Stretch stretch, RunTo(change.index, kNoLimit));
      WEFT_ASSIGN_OR_RETURN(const bool shows,
                            Test(*stretch.after, absl::StrCat("after ", change.path)));
      (shows ? bad : good) = middle;
    }
    const Change& change = changes_[bad - 1];
    guilty_.path = change.path;
    guilty_.text = change.text;
    guilty_.index = change.index;
    rewrites_before_ = good == 0 ? 0 : changes_[good - 1].rewrites;
    guilty_.pass_rewrites = change.rewrites - rewrites_before_;
    index_before_ = good == 0 ? -1 : changes_[good - 1].index;
    return absl::OkStatus();
  }

  absl::Status FindRewrite() {
    int64_t good = rewrites_before_, bad = rewrites_before_ + guilty_.pass_rewrites;
    bool numbered = guilty_.pass_rewrites > 0;
    if (numbered) {
      WEFT_ASSIGN_OR_RETURN(numbered, IsGoodAt(good));
    }
    if (!numbered) {
      WEFT_ASSIGN_OR_RETURN(Stretch before, RunTo(index_before_, kNoLimit));
      WEFT_ASSIGN_OR_RETURN(Stretch after, RunTo(guilty_.index, kNoLimit));
      guilty_.before = std::move(before.after);
      guilty_.after = std::move(after.after);
      return absl::OkStatus();
    }
    while (bad - good > 1) {
      const int64_t middle = good + (bad - good) / 2;
      WEFT_ASSIGN_OR_RETURN(const bool is_good, IsGoodAt(middle));
      (is_good ? good : bad) = middle;
    }
    WEFT_ASSIGN_OR_RETURN(Stretch before, RunTo(guilty_.index, good));
    WEFT_ASSIGN_OR_RETURN(Stretch after, RunTo(guilty_.index, bad));
    guilty_.rewrite = bad;
    guilty_.rule = after.last_rule;
    guilty_.before = std::move(before.after);
    guilty_.after = std::move(after.after);
    return absl::OkStatus();
  }

  // True if the module after the guilty pass does not show the fault when all rewrites after the
  // first `limit` are left out.
  absl::StatusOr<bool> IsGoodAt(int64_t limit) {
    WEFT_ASSIGN_OR_RETURN(Stretch stretch, RunTo(guilty_.index, limit));
    WEFT_ASSIGN_OR_RETURN(
        const bool shows,
        Test(*stretch.after, absl::StrCat("rewrite ", limit, " of ", guilty_.path)));
    return !shows;
  }

  const Module& module_;
  const PassRun& run_;
  const ModuleTest& faulty_;
  const PassBisectOptions& options_;
  std::vector<Change> changes_;
  int64_t rewrites_before_ = 0;
  int index_before_ = -1;
  GuiltyPass guilty_;
};

}  // namespace

absl::StatusOr<GuiltyPass> FindGuiltyPass(const Module& module, const PassRun& run,
                                          const ModuleTest& faulty,
                                          const PassBisectOptions& options) {
  return Search(module, run, faulty, options).Find();
}

}  // namespace weft
