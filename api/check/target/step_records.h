// Which of several steps that stand for one node is wrong: each by itself, on what it read.
#ifndef WEFT_API_CHECK_TARGET_STEP_RECORDS_H_
#define WEFT_API_CHECK_TARGET_STEP_RECORDS_H_

#include <vector>

#include "backends/runtime/step_observer.h"
#include "graph/tensor/tensor.h"

namespace weft {

class AttrList;

// What library and copy steps of one node read and wrote. Kernels are not recorded: no op
// stands for one.
class StepRecords {
 public:
  void BeforeStep(const ObservedStep& seen);
  void AfterStep(const ObservedStep& seen);

  // The first recorded step whose results are far from those of its op, or, where none is, the
  // first kernel; -1 without either. Far is what no rounding explains: a thousandth of the
  // magnitudes around.
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
