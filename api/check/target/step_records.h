// Finds the wrong step among several that compute one node, by checking each on its own operands.
#ifndef WEFT_API_CHECK_TARGET_STEP_RECORDS_H_
#define WEFT_API_CHECK_TARGET_STEP_RECORDS_H_

#include <vector>

#include "backends/runtime/step_observer.h"
#include "graph/tensor/tensor.h"

namespace weft {

class AttrList;

// Operands and results of the library and copy steps of one node. Kernels are not recorded, because
// no op corresponds to one.
class StepRecords {
 public:
  void BeforeStep(const ObservedStep& seen);
  void AfterStep(const ObservedStep& seen);

  // The first recorded step whose results are far from those of its op; if there is none, the first
  // kernel; -1 if there is no kernel. Far means more than rounding explains: a thousandth of the
  // typical magnitude.
  int FirstWrong() const;

 private:
  struct Record {
    int index = -1;
    const Step* step = nullptr;
    const AttrList* attrs = nullptr;
    std::vector<HostTensor> operands;
    std::vector<HostTensor> results;
  };
  static bool IsWrong(const Record& record);

  std::vector<Record> records_;
  int kernel_ = -1;
};

}  // namespace weft

#endif  // WEFT_API_CHECK_TARGET_STEP_RECORDS_H_
