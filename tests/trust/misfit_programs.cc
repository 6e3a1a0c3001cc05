#include "tests/trust/misfit_programs.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/ir/builder.h"
#include "graph/ir/graph.h"
#include "graph/ir/value.h"
#include "graph/ops/ops.h"
#include "graph/ops/registry.h"
#include "graph/ops/samples.h"
#include "graph/sym/sym_facts.h"
#include "tests/trust/samples.h"

namespace weft::trust {
namespace {

// One program in the making.
class MisfitBuilder {
 public:
  explicit MisfitBuilder(Random& random)
      : random_(random),
        // Most inputs are wrong in one size, some in two, some in none.
        changes_left_(random.Of({0, 1, 1, 1, 1, 2})) {
    program_.module = std::make_unique<Module>(ops::Registry());
    program_.misfit = true;
    main_ = program_.module->AddFunction("main");
  }

  absl::StatusOr<TestProgram> Make() {
    Sample sample = random_.Of(OpSamples());
    Builder b(main_);
    const std::vector<Value*> results = b.Create(*sample.op, Operands(b, &sample), sample.attrs);
    if (!b.status().ok()) return b.status();
    std::vector<Value*> outputs = {random_.Of(results)};
    Follow(b, &outputs);
    if (!b.status().ok()) return b.status();
    // A concatenation with nothing is the other part: what nothing reads may be passed over.
    if (outputs[0]->is_input()) return absl::NotFoundError("no op is left");
    main_->SetOutputs(outputs);
    return std::move(program_);
  }

 private:
  std::vector<Value*> Operands(Builder& b, Sample* sample) {
    std::vector<Type> types;
    for (SampleOperand& operand : sample->operands) {
      types.push_back(operand.type.is_tensor() ? Open(&operand.type) : Type());
    }
    const std::vector<HostTensor> tensors = SampleInputs(*sample, random_.Next());
    std::vector<Value*> operands;
    for (size_t i = 0; i < tensors.size(); ++i) {
      operands.push_back(tensors[i].valid() ? Input(types[i], tensors[i]) : nullptr);
    }
    return operands;
  }

  Value* Input(Type type, const HostTensor& tensor) {
    program_.inputs.push_back(tensor);
    return main_->AddInput(type);
  }

  // The type with symbols for some sizes; these may change in `actual`.
  Type Open(Type* actual) {
    std::vector<SymInt> open, sizes;
    for (SymInt d : actual->dims()) {
      SymInt size = d;
      if (!random_.OneIn(4)) {
        const SymInt symbol =
            SymInt::Symbol(absl::StrCat("s", program_.module->symbols().symbols().size()));
        program_.module->symbols().Declare({symbol, {0, 4096}});
        open.push_back(symbol);
        if (changes_left_ > 0 && random_.OneIn(3)) {
          --changes_left_;
          size = Other(d.value());
        }
      } else {
        open.push_back(d);
      }
      sizes.push_back(size);
    }
    *actual = actual->WithDims(sizes);
    return actual->WithDims(open);
  }

  int64_t Other(int64_t size) {
    return std::max<int64_t>(
        0, random_.Of<int64_t>({0, 1, size - 1, size + 1, size + 1, 2 * size, size + 300}));
  }

  // A pointwise op or a concatenation of the result and an input of symbolic sizes, which fits or
  // does not.
  void Follow(Builder& b, std::vector<Value*>* outputs) {
    Value* value = outputs->front();
    if (!value->type().is_tensor() || value->type().dtype() != DType::kF32 || random_.OneIn(2)) {
      return;
    }
    std::vector<SymInt> sizes;
    for (int i = 0; i < value->type().rank(); ++i) sizes.push_back(random_.Pick(1, 5));
    Type actual = Type::Tensor(DType::kF32, sizes);
    const Type open = Open(&actual);
    std::vector<int64_t> dims;
    for (SymInt d : actual.dims()) dims.push_back(d.value());
    Value* other = Input(open, DrawTensor(DType::kF32, dims, false, random_));
    if (open.rank() > 0 && random_.OneIn(3)) {
      const std::vector<Value*> parts = {value, other};
      const NamedAttr dim = {"dim", random_.Pick(0, open.rank() - 1)};
      outputs->front() = b.Op(ops::cat, parts, absl::MakeConstSpan(&dim, 1));
    } else {
      outputs->front() = b.Op(*random_.Of({&ops::add, &ops::mul, &ops::maximum}), {value, other});
    }
  }

  Random& random_;
  int changes_left_;
  TestProgram program_;
  Graph* main_ = nullptr;
};

}  // namespace

absl::StatusOr<TestProgram> MakeMisfitProgram(Random& random) {
  return MisfitBuilder(random).Make();
}

}  // namespace weft::trust
