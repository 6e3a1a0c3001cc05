// Describes steps of plans to a device out of tree (weft_call of api/c/device.h).
#ifndef WEFT_BACKENDS_PLUGIN_CALL_DESCRIPTION_H_
#define WEFT_BACKENDS_PLUGIN_CALL_DESCRIPTION_H_

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "api/c/device.h"
#include "backends/runtime/run_view.h"
#include "backends/runtime/step_launcher.h"

namespace weft {
class AttrList;
class OpDef;
}  // namespace weft

namespace weft::plugin {

weft_dtype DTypeToC(DType dtype);

// Memory around the first element of an operand.
struct Extent {
  int64_t before = 0;
  int64_t after = 0;

  int64_t bytes() const { return before + after; }
};

// Extent of the view's elements.
Extent ExtentOf(const RunView& view);
// Extent of the view's whole buffer; a kernel may read it anywhere.
Extent ExtentOf(const StepRequest& request, const RunView& view);

// A weft_call and everything that it points to.
class CallDescription {
 public:
  CallDescription(std::string op, std::string label);
  CallDescription(const CallDescription&) = delete;
  CallDescription& operator=(const CallDescription&) = delete;

  void AddArg(const RunView& view, const Extent& extent);
  void AddResult(const RunView& view, const Extent& extent);
  // False if an attribute has symbols without values.
  bool SetAttrs(const OpDef& op, const AttrList* attrs);
  bool AddEpilogue(const Epilogue& epilogue);
  void SetKernel(weft_kernel kernel, std::string name);

  weft_call ToC(weft_plan* plan) const;

 private:
  weft_device_tensor Tensor(const RunView& view, const Extent& extent);
  // False as in SetAttrs.
  bool Attrs(const OpDef& op, const AttrList* attrs, std::vector<weft_attr>* to);

  const std::string op_;
  const std::string label_;
  std::vector<weft_device_tensor> args_;
  std::vector<weft_device_tensor> results_;
  std::vector<weft_attr> attrs_;
  std::vector<weft_epilogue> epilogues_;
  weft_kernel kernel_ = 0;
  std::string kernel_name_;
  // The structs point into these; a deque does not move its elements.
  std::deque<std::vector<int64_t>> ints_;
  std::deque<std::vector<double>> floats_;
  std::deque<std::vector<const char*>> texts_;
  std::deque<std::string> strings_;
  std::deque<std::vector<weft_attr>> lists_;
};

}  // namespace weft::plugin

#endif  // WEFT_BACKENDS_PLUGIN_CALL_DESCRIPTION_H_
