#include "tests/bench/generated_graph.h"

#include <vector>

#include "graph/ir/builder.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ops/ops.h"
#include "graph/ops/registry.h"
#include "graph/tensor/type.h"

namespace weft {
namespace {

// A xorshift generator: the graphs are the same everywhere.
class Random {
 public:
  uint32_t Below(uint32_t n) {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return static_cast<uint32_t>((state_ >> 20) % n);
  }

 private:
  uint64_t state_ = 0x2545f4914f6cdd1d;
};

// Operands come from the last values; `busy` graphs hold work for every pass.
class Generator {
 public:
  Generator(Graph* graph, bool busy)
      : graph_(graph), busy_(busy), builder_(graph, nullptr, NoFold()) {
    for (int i = 0; i < 4; ++i) {
      recent_.push_back(graph->AddInput(Type::Tensor(DType::kF32, {64, 64})));
    }
    zero_ = builder_.Scalar(DType::kF32, 0.0);
    one_ = builder_.Scalar(DType::kF32, 1.0);
    swap_ = *MakeAttrs(ops::permute, {NamedAttr{"dims", std::vector<int64_t>{1, 0}}});
  }

  void Grow(int64_t nodes) {
    while (graph_->num_nodes() < nodes) Step();
    graph_->SetOutputs(recent_);
  }

 private:
  static Builder::Options NoFold() {
    Builder::Options options;
    options.fold = false;
    return options;
  }
  Value* Recent() { return recent_[random_.Below(recent_.size())]; }
  Value* Make(const OpDef& op, absl::Span<Value* const> operands,
              const AttrList* attrs = AttrList::Empty()) {
    return builder_.Create(op, operands, attrs)[0];
  }
  void Push(Value* v) {
    constexpr size_t kWindow = 32;
    if (recent_.size() < kWindow) {
      recent_.push_back(v);
    } else {
      recent_[next_++ % kWindow] = v;
    }
  }
  void Step() {
    Value* x = Recent();
    switch (busy_ ? random_.Below(8) : 7) {
      case 0:
        return Push(Make(ops::add, {x, zero_}));
      case 1:
        return Push(Make(ops::mul, {x, one_}));
      case 2:
        return Push(Make(ops::permute, {Make(ops::permute, {x}, swap_)}, swap_));
      case 3: {
        Value* y = Recent();
        Value* twice = Make(ops::sub, {x, y});
        return Push(Make(ops::mul, {twice, Make(ops::sub, {x, y})}));
      }
      default:
        return Push(random_.Below(4) == 0 ? Make(ops::exp, {x}) : Make(ops::sub, {x, Recent()}));
    }
  }

  Graph* graph_;
  bool busy_;
  Builder builder_;
  Random random_;
  std::vector<Value*> recent_;
  size_t next_ = 0;
  Value* zero_;
  Value* one_;
  const AttrList* swap_;
};

}  // namespace

std::unique_ptr<Module> MakeModule(int64_t nodes, bool busy) {
  auto module = std::make_unique<Module>(ops::Registry());
  Generator(module->AddFunction("main"), busy).Grow(nodes);
  return module;
}

}  // namespace weft
