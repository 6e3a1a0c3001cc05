#include "passes/quantize/choose_params.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "graph/ir/constant_store.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/node.h"
#include "graph/tensor/tensor.h"
#include "passes/quantize/params_layout.h"

namespace weft {
namespace {

absl::Status At(const QuantSite& site, const absl::Status& status) {
  return absl::Status(status.code(), absl::StrCat(ToString(site), ": ", status.message()));
}

class Chooser {
 public:
  Chooser(const Graph& function, const std::vector<SiteGroup>& groups)
      : function_(function), groups_(groups) {
    for (int i = 0; i < function.num_inputs(); ++i) {
      const InputInfo& info = function.input_info(i);
      if (info.initial >= 0) states_[info.name] = info.initial;
    }
    for (size_t i = 0; i < groups.size(); ++i) {
      for (const QuantSite& site : groups[i].sites) {
        by_place_[{site.user == nullptr ? static_cast<const void*>(site.value) : site.user,
                   site.operand}] = i;
      }
    }
  }

  absl::StatusOr<std::vector<GroupParams>> Run() {
    std::vector<GroupParams> result(groups_.size());
    for (size_t i = 0; i < groups_.size(); ++i) {
      if (groups_[i].spec.scheme == QuantScheme::kDerived) continue;
      auto chosen = Choose(groups_[i]);
      if (!chosen.ok()) return At(groups_[i].sites[0], chosen.status());
      result[i] = *std::move(chosen);
    }
    for (size_t i = 0; i < groups_.size(); ++i) {
      if (groups_[i].spec.scheme != QuantScheme::kDerived) continue;
      auto derived = Derive(groups_[i], result);
      if (!derived.ok()) return At(groups_[i].sites[0], derived.status());
      result[i] = *std::move(derived);
    }
    return result;
  }

 private:
  static int64_t Count(const std::vector<int64_t>& dims) {
    int64_t n = 1;
    for (int64_t d : dims) n *= d;
    return n;
  }

  absl::StatusOr<GroupParams> Choose(const SiteGroup& group) const {
    GroupParams chosen;
    const QuantSpec& spec = group.spec;
    chosen.weight = group.sites[0].weight != nullptr || ComputesParams(group);
    if (spec.dynamic) return chosen;
    if (ComputesParams(group)) {
      WEFT_RETURN_IF_ERROR(CheckOneWeight(group));
      return chosen;
    }
    for (const QuantSite& site : group.sites) {
      WEFT_ASSIGN_OR_RETURN(std::vector<int64_t> dims, DimsOfScales(spec, site.value->type()));
      if (site.value != group.sites[0].value && dims != chosen.dims) {
        return absl::InvalidArgumentError(absl::StrCat("shares scales with ", ToString(site),
                                                       ", which has another number of them"));
      }
      chosen.dims = std::move(dims);
    }
    std::vector<ValueRange> ranges(Count(chosen.dims));
    if (NeedsObserver(group)) {
      WEFT_ASSIGN_OR_RETURN(ranges, Observed(group));
    } else if (spec.scheme != QuantScheme::kFixed) {
      WEFT_ASSIGN_OR_RETURN(ranges, OfWeights(group));
    }
    if (static_cast<int64_t>(ranges.size()) != Count(chosen.dims)) {
      return absl::InvalidArgumentError(
          absl::StrCat("the state is for ", ranges.size(), " scales, not ", Count(chosen.dims)));
    }
    WEFT_ASSIGN_OR_RETURN(chosen.params, ParamsOfRanges(spec, ranges));
    return chosen;
  }

  absl::StatusOr<std::vector<ValueRange>> Observed(const SiteGroup& group) const {
    if (group.observer.empty()) {
      return absl::FailedPreconditionError("nothing observes it; quantize_prepare comes first");
    }
    const auto it = states_.find(group.observer);
    if (it == states_.end()) {
      return absl::FailedPreconditionError(
          absl::StrCat("there is no input ", group.observer, " with a state"));
    }
    auto ranges = RangesOfState(group.spec, function_.module().constants().tensor(it->second));
    if (ranges.ok()) return ranges;
    return absl::Status(ranges.status().code(), absl::StrCat("its observer ", group.observer, ": ",
                                                             ranges.status().message()));
  }

  // The union over the weights of the group.
  absl::StatusOr<std::vector<ValueRange>> OfWeights(const SiteGroup& group) const {
    std::vector<ValueRange> all;
    const Value* last = nullptr;
    for (const QuantSite& site : group.sites) {
      if (site.value == last) continue;
      last = site.value;
      WEFT_ASSIGN_OR_RETURN(const std::vector<ValueRange> ranges,
                            RangesOfTensor(group.spec, *site.weight));
      if (all.empty()) all = ranges;
      for (size_t i = 0; i < std::min(all.size(), ranges.size()); ++i) {
        all[i] = {std::min(all[i].min, ranges[i].min), std::max(all[i].max, ranges[i].max)};
      }
    }
    return all;
  }

  // The group of an operand, or -1.
  int GroupOf(const Node* user, int operand) const {
    auto it = by_place_.find({user, operand});
    if (it == by_place_.end()) it = by_place_.find({user->operand(operand), -1});
    return it == by_place_.end() ? -1 : it->second;
  }

  absl::StatusOr<GroupParams> Derive(const SiteGroup& group,
                                     const std::vector<GroupParams>& chosen) const {
    const QuantSite& site = group.sites[0];
    if (site.user == nullptr || site.user->num_operands() < 2 || group.sites.size() != 1) {
      return absl::InvalidArgumentError("a derived spec is for one operand of one node");
    }
    GroupParams result;
    result.weight = true;
    result.params.scale = {1};
    for (int operand = 0; operand < 2; ++operand) {
      const int from = GroupOf(site.user, operand);
      if (from < 0 || chosen[from].params.scale.empty()) {
        return absl::InvalidArgumentError(absl::StrCat("a derived spec, but operand ", operand,
                                                       " has no parameters before the run"));
      }
      WEFT_RETURN_IF_ERROR(MultiplyInto(chosen[from].params.scale, &result.params.scale));
    }
    if (result.params.scale.size() > 1) {
      result.dims = {static_cast<int64_t>(result.params.scale.size())};
    }
    result.params.zero_point.assign(result.params.scale.size(), 0);
    return result;
  }

  static absl::Status MultiplyInto(const std::vector<double>& by, std::vector<double>* scales) {
    if (by.size() > 1 && scales->size() > 1 && by.size() != scales->size()) {
      return absl::InvalidArgumentError(
          absl::StrCat("its operands have ", scales->size(), " and ", by.size(), " scales"));
    }
    if (scales->size() == 1) scales->resize(by.size(), scales->front());
    for (size_t i = 0; i < scales->size(); ++i) {
      (*scales)[i] = static_cast<float>((*scales)[i] * by[by.size() == 1 ? 0 : i]);
    }
    return absl::OkStatus();
  }

  const Graph& function_;
  const std::vector<SiteGroup>& groups_;
  std::map<std::string, int> states_;
  absl::flat_hash_map<std::pair<const void*, int>, int> by_place_;
};

}  // namespace

absl::StatusOr<std::vector<GroupParams>> ChooseParams(const Graph& function,
                                                      const std::vector<SiteGroup>& groups) {
  return Chooser(function, groups).Run();
}

std::string ToText(const std::vector<SiteGroup>& groups, const std::vector<GroupParams>& params) {
  std::string text;
  for (size_t i = 0; i < groups.size(); ++i) {
    absl::StrAppend(&text, ToString(groups[i].sites[0]), ": ", ToText(groups[i].spec), ":");
    for (size_t k = 0; k < params[i].params.scale.size(); ++k) {
      absl::StrAppend(&text, k == 0 ? " " : "; ", "scale ", params[i].params.scale[k],
                      ", zero point ", params[i].params.zero_point[k]);
    }
    absl::StrAppend(&text, params[i].params.scale.empty() ? " at run time\n" : "\n");
  }
  return text;
}

}  // namespace weft
