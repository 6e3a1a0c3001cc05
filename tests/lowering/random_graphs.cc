#include "tests/lowering/random_graphs.h"

#include <random>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "graph/ir/builder.h"
#include "graph/ir/graph.h"
#include "graph/ir/node.h"
#include "graph/ops/ops.h"
#include "graph/ops/registry.h"
#include "graph/sym/sym_expr.h"
#include "graph/sym/sym_facts.h"

namespace weft {
namespace {

class Generator {
 public:
  explicit Generator(uint64_t seed) : rng_(seed) {}

  RandomProgram Run() {
    RandomProgram program;
    program.module = std::make_unique<Module>(ops::Registry());
    Module& module = *program.module;
    // Below, at and above what vectors hold.
    const int64_t sizes[][2] = {{3, 6}, {3, 6}, {1, 6}, {7, 2}, {17, 3}, {2, 33}, {40, 1}};
    const int k = Pick(0, 6);
    s0_value_ = sizes[k][0];
    s1_value_ = sizes[k][1];
    s0_ = SymInt::Symbol("s0");
    s1_ = SymInt::Symbol("s1");
    module.symbols().Declare({s0_, {1, 64}});
    module.symbols().Declare({s1_, {1, 64}});
    Graph* main = module.AddFunction("main");
    for (int i = Pick(1, 3); i > 0; --i) {
      std::vector<SymInt> dims;
      for (int d = Pick(1, 3); d > 0; --d) dims.push_back(Size());
      values_.push_back(main->AddInput(Type::Tensor(DType::kF32, dims)));
    }
    Builder b(main);
    for (int i = Pick(2, 12); i > 0; --i) {
      if (Pick(0, 4) == 0) {
        AddFused(b);
      } else {
        Add(AddNode(b));
      }
    }
    WEFT_CHECK(b.status().ok()) << b.status().ToString();
    std::vector<Value*> outputs = {values_.back()};
    for (int i = Pick(0, 2); i > 0; --i) outputs.push_back(Any());
    main->SetOutputs(outputs);
    for (int i = 0; i < main->num_inputs(); ++i) {
      program.inputs.push_back(Data(main->input(i)->type()));
    }
    return program;
  }

 private:
  // Values above this do not grow any more.
  static constexpr int64_t kLarge = 1 << 13;

  int Pick(int low, int high) { return low + static_cast<int>(rng_() % (high - low + 1)); }
  SymInt Size() {
    const SymInt sizes[] = {1, 2, 4, 5, s0_, s1_};
    return sizes[Pick(0, 5)];
  }
  Value* Any() { return values_[Pick(0, static_cast<int>(values_.size()) - 1)]; }
  void Add(Value* v) {
    if (v != nullptr) values_.push_back(v);
  }

  int64_t Number(SymInt size) {
    return *Evaluate(size, [&](SymInt s) { return s == s0_ ? s0_value_ : s1_value_; });
  }
  bool IsLarge(Value* v) { return Number(v->type().numel()) > kLarge; }

  HostTensor Data(Type type) {
    std::vector<int64_t> dims;
    for (SymInt d : type.dims()) {
      dims.push_back(Number(d));
    }
    HostTensor t(type.dtype(), dims);
    std::vector<double> values(t.numel());
    for (double& v : values) {
      v = static_cast<double>(rng_() % 2001) / 1000 - 1;
    }
    t.WriteDoubles(values);
    return t;
  }

  Value* AddNode(Builder& b) {
    Value* x = Any();
    switch (Pick(0, 7)) {
      case 0:
        return Unary(b, x);
      case 1:
        return Binary(b, x);
      case 2:
        return Reduction(b, x);
      case 3:
        return Normalization(b, x);
      case 4:
        return Move(b, x);
      case 5:
        return Concat(b, x);
      case 6:
        return Product(b, x);
      default:
        return Binary(b, Unary(b, x));
    }
  }

  Value* Unary(Builder& b, Value* x) {
    const OpDef* const kOps[] = {&ops::relu,      &ops::tanh,    &ops::sigmoid, &ops::neg,
                                 &ops::abs,       &ops::sin,     &ops::gelu,    &ops::silu,
                                 &ops::hardswish, &ops::softsign};
    return b.Op(*kOps[Pick(0, 9)], {x});
  }

  // With another value that has the type, or a part of it that broadcasts.
  Value* Binary(Builder& b, Value* x) {
    Value* y = x;
    for (Value* v : values_) {
      if (v->type() == x->type() && v != x && Pick(0, 1) == 0) y = v;
    }
    if (y == x && x->type().rank() > 0) y = Reduction(b, x, true);
    switch (Pick(0, 4)) {
      case 0:
        return b.Op(ops::sub, {x, y});
      case 1:
        return b.Op(ops::mul, {x, b.Op(ops::tanh, {y})});
      case 2:
        return b.Op(ops::maximum, {x, y});
      case 3:
        return b.Op(ops::where, {b.Op(ops::lt, {x, y}), x, y});
      default:
        return b.Op(ops::add, {y, x});
    }
  }

  Value* Reduction(Builder& b, Value* x, bool keep = false) {
    const int rank = x->type().rank();
    if (rank == 0) return Unary(b, x);
    const OpDef* const kOps[] = {&ops::mean, &ops::amax, &ops::amin, &ops::sum};
    std::vector<int64_t> dims;
    const int first = Pick(0, rank - 1);
    for (int d = first; d < rank; ++d) {
      if (d == first || Pick(0, 2) == 0) dims.push_back(d);
    }
    const bool sum = Pick(0, 3) == 0;
    Value* y = b.Op(*kOps[sum ? 3 : Pick(0, 2)], {x},
                    {{"dim", dims}, {"keepdim", keep || Pick(0, 1) == 0}});
    return sum ? b.Op(ops::tanh, {y}) : y;
  }

  Value* Normalization(Builder& b, Value* x) {
    const int rank = x->type().rank();
    if (rank == 0) return Unary(b, x);
    const int dim = Pick(0, rank - 1);
    switch (Pick(0, 3)) {
      case 0:
        return b.Op(ops::softmax, {x}, {{"dim", dim}});
      case 1:
        return b.Op(ops::tanh, {b.Op(ops::log_softmax, {x}, {{"dim", dim}})});
      case 2:
        return b.Op(
            ops::rms_norm, {x, nullptr},
            {{"normalized_shape", std::vector<SymInt>{x->type().dim(rank - 1)}}, {"eps", 0.1}});
      default: {
        const std::vector<Value*> y =
            b.Ops(ops::native_layer_norm, {x, nullptr, nullptr},
                  {{"normalized_shape",
                    std::vector<SymInt>(x->type().dims().begin() + dim, x->type().dims().end())},
                   {"eps", 0.1}});
        return Pick(0, 3) == 0 ? y[1] : y[0];
      }
    }
  }

  Value* Move(Builder& b, Value* x) {
    const Type type = x->type();
    const int rank = type.rank();
    if (rank == 0) {
      return b.Op(ops::expand, {x}, {{"size", std::vector<SymInt>{4}}});
    }
    const int dim = Pick(0, rank - 1);
    switch (Pick(0, 6)) {
      case 0: {
        std::vector<int64_t> dims;
        for (int d = 0; d < rank; ++d) dims.push_back((d + 1) % rank);
        return b.Op(ops::permute, {x}, {{"dims", dims}});
      }
      case 1:
        return b.Op(ops::reshape, {x}, {{"size", std::vector<SymInt>{type.numel()}}});
      case 2:
        return b.Op(ops::slice, {x}, {{"dim", dim}, {"end", 1}});
      case 3:
        return b.Op(ops::flip, {x}, {{"dims", std::vector<int64_t>{dim}}});
      case 4: {
        if (IsLarge(x)) return Unary(b, x);
        std::vector<SymInt> size(type.dims().begin(), type.dims().end());
        size.insert(size.begin(), 2);
        return b.Op(ops::expand, {x}, {{"size", size}});
      }
      case 5: {
        std::vector<SymInt> pad(2 * rank, SymInt(0));
        pad[dim] = 1;
        return b.Op(ops::pad, {x, nullptr}, {{"pad", pad}});
      }
      default:
        return b.Op(ops::index_select, {x, b.Ints({0, -1, 0})}, {{"dim", dim}});
    }
  }

  Value* Concat(Builder& b, Value* x) {
    if (IsLarge(x)) return Unary(b, x);
    std::vector<Value*> rows = {x};
    for (int i = Pick(1, 3); i > 0; --i) rows.push_back(Unary(b, x));
    for (Value* v : values_) {
      if (v->type() == x->type() && Pick(0, 1) == 0) rows.push_back(v);
    }
    const int rank = x->type().rank();
    const NamedAttr dim = {"dim", rank == 0 ? 0 : Pick(0, rank - 1)};
    const bool stack = rank == 0 || (rank < 4 && Pick(0, 1) == 0);
    return b.Op(stack ? ops::stack : ops::cat, rows, absl::MakeConstSpan(&dim, 1));
  }

  Value* Product(Builder& b, Value* x) {
    const int rank = x->type().rank();
    if (rank < 2) return Unary(b, x);
    switch (Pick(0, 3)) {
      case 0:
        return Linears(b, x);
      case 1:
        return Attention(b, x);
      case 2:
        return rank < 3 ? Linears(b, x) : Convolution(b, x);
      default:
        // With its own transpose, made small.
        return b.Op(ops::tanh, {b.Op(ops::matmul, {x, Transpose(b, x)})});
    }
  }

  Value* Transpose(Builder& b, Value* x) {
    const int rank = x->type().rank();
    std::vector<int64_t> dims(rank);
    for (int d = 0; d < rank; ++d) dims[d] = d;
    std::swap(dims[rank - 1], dims[rank - 2]);
    return b.Op(ops::permute, {x}, {{"dims", dims}});
  }

  // Numbers for which sums of `terms` products stay as large as the other factor.
  Value* Weights(Builder& b, const std::vector<int64_t>& dims, int64_t terms) {
    HostTensor t(DType::kF32, dims);
    std::vector<double> values(t.numel());
    for (double& v : values) v = (static_cast<double>(rng_() % 2001) / 1000 - 1) / terms;
    t.WriteDoubles(values);
    return b.Constant(t);
  }

  // One to three linears of one input.
  Value* Linears(Builder& b, Value* x) {
    const SymInt features = x->type().dims().back();
    if (!features.is_constant()) return Unary(b, x);
    Value* y = nullptr;
    for (int i = Pick(1, 3); i > 0; --i) {
      Add(y);
      const int64_t n = Pick(1, 20);
      Value* bias = Pick(0, 1) == 0 ? nullptr : Weights(b, {n}, 1);
      y = b.Op(ops::linear, {x, Weights(b, {n, features.value()}, features.value()), bias});
      if (Pick(0, 1) == 0) y = Unary(b, y);
    }
    return y;
  }

  Value* Convolution(Builder& b, Value* x) {
    const int rank = x->type().rank();
    const SymInt channels = x->type().dim(1);
    if (!channels.is_constant() || rank > 4) return Unary(b, x);
    const int64_t n = Pick(1, 20);
    std::vector<int64_t> dims = {n, channels.value()};
    for (int d = 2; d < rank; ++d) dims.push_back(3);
    const std::vector<int64_t> ones(rank - 2, 1), zeros(rank - 2, 0);
    Value* bias = Pick(0, 1) == 0 ? nullptr : Weights(b, {n}, 1);
    Value* y = b.Op(ops::convolution, {x, Weights(b, dims, 3 * channels.value()), bias},
                    {{"stride", ones},
                     {"padding", ones},
                     {"dilation", ones},
                     {"transposed", false},
                     {"output_padding", zeros},
                     {"groups", 1}});
    return Pick(0, 1) == 0 ? y : Unary(b, y);
  }

  // As programs write it, with a scale and a mask or without.
  Value* Attention(Builder& b, Value* x) {
    Value* scores = b.Op(ops::matmul, {x, Transpose(b, x)});
    scores = b.Op(ops::mul, {scores, Weights(b, {}, 1)});
    if (Pick(0, 1) == 0) scores = b.Op(ops::add, {scores, Reduction(b, scores, true)});
    Value* p = b.Op(ops::softmax, {scores}, {{"dim", x->type().rank() - 1}});
    return b.Op(ops::matmul, {p, x});
  }

  // Nodes on one or two values as a group.
  void AddFused(Builder& b) {
    std::vector<Value*> operands = {Any(), Any()};
    if (operands[0] == operands[1]) operands.pop_back();
    // Symbols of a nested graph get their values from plain sizes.
    for (Value* v : operands) {
      for (SymInt d : v->type().dims()) {
        if (!d.is_constant() && !d.is_symbol()) return Add(AddNode(b));
      }
    }
    auto body = std::make_unique<Graph>(&b.module(), "body");
    const std::vector<Value*> outside = std::move(values_);
    values_.clear();
    for (Value* v : operands) values_.push_back(body->AddInput(v->type()));
    Builder inner(body.get());
    const size_t inputs = values_.size();
    for (int i = Pick(1, 5); i > 0; --i) Add(AddNode(inner));
    WEFT_CHECK(inner.status().ok()) << inner.status().ToString();
    std::vector<Value*> outputs = {values_.back()};
    if (values_.size() > inputs + 1 && Pick(0, 1) == 0) {
      outputs.push_back(values_[inputs]);
    }
    body->SetOutputs(outputs);
    std::vector<std::unique_ptr<Graph>> regions;
    regions.push_back(std::move(body));
    values_ = outside;
    const NamedAttr kind = {"kind", "pointwise"};
    for (Value* v :
         b.Ops(ops::fused, operands, absl::MakeConstSpan(&kind, 1), std::move(regions))) {
      Add(v);
    }
  }

  std::mt19937_64 rng_;
  SymInt s0_, s1_;
  int64_t s0_value_ = 0;
  int64_t s1_value_ = 0;
  std::vector<Value*> values_;
};

}  // namespace

RandomProgram MakeRandomProgram(uint64_t seed) { return Generator(seed).Run(); }

RandomProgram MakeRandomUpdate(uint64_t seed) {
  RandomProgram program = MakeRandomProgram(seed);
  Graph* main = program.module->main();
  std::mt19937_64 random(seed);
  std::vector<Value*> all;
  for (int i = 0; i < main->num_inputs(); ++i) all.push_back(main->input(i));
  for (const Node* node : main->nodes()) {
    for (int r = 0; r < node->num_results(); ++r) {
      all.push_back(const_cast<Value*>(node->result(r)));
    }
  }
  Builder b(main);
  std::vector<Value*> outputs;
  for (int i = 0; i < main->num_outputs(); ++i) outputs.push_back(main->output(i));
  std::vector<int> written;
  for (int i = 0; i < main->num_inputs(); ++i) {
    if (random() % 4 == 0) continue;
    Value* x = main->input(i);
    std::vector<Value*> like;
    for (Value* v : all) {
      if (v->type() == x->type()) like.push_back(v);
    }
    Value* other = like[random() % like.size()];
    switch (random() % 6) {
      case 0:
        outputs.push_back(other);
        break;
      case 1:
        outputs.push_back(b.Op(ops::tanh, {x}));
        break;
      case 2:
        outputs.push_back(b.Op(ops::cumsum, {x}, {{"dim", int64_t{0}}}));
        break;
      default:
        outputs.push_back(b.Op(ops::tanh, {b.Op(ops::sub, {x, b.Op(ops::sin, {other})})}));
        break;
    }
    written.push_back(i);
  }
  WEFT_CHECK(b.status().ok()) << b.status().ToString();
  main->SetOutputs(outputs);
  main->SetWriteBacks(written);
  return program;
}

}  // namespace weft
