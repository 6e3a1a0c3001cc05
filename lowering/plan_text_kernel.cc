// The text form of kernels, read.
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/sym/sym_expr.h"
#include "lowering/plan_text.h"
#include "lowering/plan_text_reader.h"

namespace weft {
namespace {

using text::kArrow;
using text::kIdentifier;

class KernelParser {
 public:
  explicit KernelParser(text::TextReader& reader) : reader_(reader) {}

  bool Parse(Kernel* kernel) {
    reader_.Advance();
    if (!reader_.ParseSigilName(false, &kernel->name) || !reader_.Expect('(')) {
      return false;
    }
    while (!reader_.Accept(')')) {
      if (!kernel->args.empty() && !reader_.Expect(',')) return false;
      const size_t position = reader_.position();
      KernelArg arg;
      std::string name;
      if (!reader_.ParseSigilName(true, &name) || !reader_.Expect(':') ||
          !ParseDType(reader_, &arg.dtype)) {
        return false;
      }
      if (name != absl::StrCat("a", kernel->args.size())) {
        return reader_.Fail(position, "arguments are %a0, %a1, ...");
      }
      arg.written = reader_.AcceptWord("out");
      kernel->args.push_back(arg);
    }
    num_args_ = static_cast<int>(kernel->args.size());
    if (!reader_.Expect('{')) return false;
    while (!reader_.Accept('}')) {
      if (reader_.AtWord("schedule")) {
        if (!ParseScheduleText(reader_, &kernel->schedule)) return false;
      } else if (!ParseNest(&kernel->nests.emplace_back())) {
        return false;
      }
    }
    return true;
  }

 private:
  bool ParseNest(Nest* nest) {
    loops_.clear();
    num_reductions_ = 0;
    if (!reader_.ExpectWord("nest")) return false;
    bool inner = false;
    while (reader_.At('(') || reader_.AtWord("inner")) {
      if (reader_.AcceptWord("inner")) inner = true;
      if (!reader_.Expect('(')) return false;
      if (loops_.size() == Type::kMaxRank) {
        return reader_.Fail(reader_.position(), "too many loops");
      }
      SymInt loop, extent;
      if (!reader_.ParseSymbol(&loop) || !reader_.Expect('<') || !reader_.ParseSymInt(&extent) ||
          !reader_.Expect(')')) {
        return false;
      }
      loops_.push_back(loop);
      (inner ? nest->inner : nest->outer).push_back(extent);
    }
    if (reader_.AcceptWord("rows")) {
      if (!reader_.Expect('(')) return false;
      do {
        if (!ParseDType(reader_, &nest->rows.emplace_back())) return false;
      } while (reader_.Accept(','));
      if (!reader_.Expect(')')) return false;
    }
    if (!reader_.Expect('{')) return false;
    while (!reader_.Accept('}')) {
      if (!ParseStage(*nest, &nest->stages.emplace_back())) return false;
    }
    return true;
  }

  bool ParseStage(const Nest& nest, Stage* stage) {
    if (!reader_.ExpectWord("stage")) return false;
    stage->per_row = reader_.AcceptWord("per_row");
    if (!reader_.Expect('{')) return false;
    while (!reader_.Accept('}')) {
      const int values = static_cast<int>(stage->body.size());
      bool parsed;
      if (reader_.AcceptWord("keep")) {
        parsed = ParseKeep(nest, values, stage);
      } else if (reader_.AcceptWord("reduce")) {
        parsed = ParseReduction(values, stage);
      } else if (reader_.AcceptWord("store")) {
        Store store;
        parsed = ParseNumbered(reader_, "", values, &store.value) && reader_.Expect(kArrow) &&
                 ParseAccess(values, &store.access);
        stage->stores.push_back(std::move(store));
      } else {
        parsed = ParseInstr(nest, stage);
      }
      if (!parsed) return false;
    }
    return true;
  }

  bool ParseKeep(const Nest& nest, int values, Stage* stage) {
    Keep keep;
    if (!ParseNumbered(reader_, "", values, &keep.value) || !reader_.Expect(kArrow) ||
        !reader_.ExpectWord("row") || !ParseRow(nest, &keep.row)) {
      return false;
    }
    stage->keeps.push_back(keep);
    return true;
  }

  bool ParseRow(const Nest& nest, int* row) {
    const size_t position = reader_.position();
    if (!ParseIndex(reader_, row)) return false;
    if (static_cast<size_t>(*row) < nest.rows.size()) return true;
    return reader_.Fail(position, "the nest has no such row");
  }

  bool ParseReduction(int values, Stage* stage) {
    Reduction r;
    if (!reader_.At(kIdentifier) || !ParseReduceOp(reader_.token().text, &r.op)) {
      return reader_.Expected("a reduction");
    }
    reader_.Advance();
    const size_t position = reader_.position();
    int number = 0;
    if (!ParseNumbered(reader_, "", values, &r.value) || !reader_.Expect(':') ||
        !ParseDType(reader_, &r.dtype) || !reader_.Expect(kArrow) ||
        !ParseIndex(reader_, &number)) {
      return false;
    }
    if (number != num_reductions_) {
      return reader_.Fail(position, absl::StrCat("this is reduction ", num_reductions_));
    }
    ++num_reductions_;
    stage->reductions.push_back(r);
    return true;
  }

  bool ParseInstr(const Nest& nest, Stage* stage) {
    const int number = static_cast<int>(stage->body.size());
    Instr i;
    int named = 0;
    const size_t position = reader_.position();
    if (!ParseNumbered(reader_, "", number + 1, &named)) return false;
    if (named != number) {
      return reader_.Fail(position, absl::StrCat("this is %", number));
    }
    if (!reader_.Expect('=')) return false;
    if (!reader_.At(kIdentifier) || !ParseScalarOp(reader_.token().text, &i.op)) {
      return reader_.Expected("an instruction");
    }
    reader_.Advance();
    const size_t operands = reader_.position();
    if (!ParseOperands(nest, number, &i) || !reader_.Expect(':') ||
        !ParseDType(reader_, &i.dtype)) {
      return false;
    }
    if (i.op == ScalarOp::kConst && !ReparseConst(operands, &i)) return false;
    stage->body.push_back(std::move(i));
    return true;
  }

  // Reads a number after its dtype is known, which follows it in the text.
  bool ReparseConst(size_t position, Instr* i) {
    const size_t end = reader_.position();
    reader_.Seek(position);
    const bool parsed =
        IsFloat(i->dtype) ? reader_.ParseDouble(&i->imm) : reader_.ParseInt(&i->int_imm);
    if (parsed) reader_.Seek(end);
    return parsed;
  }

  bool ParseOperands(const Nest& nest, int values, Instr* i) {
    switch (i->op) {
      case ScalarOp::kConst: {
        double ignored;
        return reader_.ParseDouble(&ignored);
      }
      case ScalarOp::kSize:
        return reader_.Expect('(') && reader_.ParseSymInt(&i->size) && reader_.Expect(')');
      case ScalarOp::kIndex:
        return ParseLoop(&i->loop);
      case ScalarOp::kRow:
        return ParseRow(nest, &i->loop);
      case ScalarOp::kReduced: {
        const size_t position = reader_.position();
        if (!ParseIndex(reader_, &i->loop)) return false;
        if (i->loop < num_reductions_) return true;
        return reader_.Fail(position, "there is no such reduction yet");
      }
      case ScalarOp::kLoad:
        return ParseAccess(values, &i->access);
      default:
        break;
    }
    for (int k = 0; k < NumOperands(i->op); ++k) {
      if (k > 0 && !reader_.Expect(',')) return false;
      if (!ParseNumbered(reader_, "", values, &i->operands[k])) return false;
    }
    if (i->op != ScalarOp::kRound) return true;
    return reader_.ExpectWord("via") && ParseDType(reader_, &i->via);
  }

  bool ParseLoop(int* out) {
    const size_t position = reader_.position();
    SymInt loop;
    if (!reader_.ParseSymbol(&loop)) return false;
    for (size_t l = 0; l < loops_.size(); ++l) {
      if (loops_[l] != loop) continue;
      *out = static_cast<int>(l);
      return true;
    }
    return reader_.Fail(position, "the nest has no such loop");
  }

  // Parses a sum of loops with factors.
  bool ParseLinear(SymInt* offset, std::vector<SymInt>* strides) {
    const size_t position = reader_.position();
    SymInt whole;
    if (!reader_.ParseSymInt(&whole)) return false;
    const auto at = [&](size_t one) {
      return Substitute(whole, [&](SymInt s) -> std::optional<SymInt> {
        for (size_t l = 0; l < loops_.size(); ++l) {
          if (loops_[l] == s) return SymInt(l == one ? 1 : 0);
        }
        return std::nullopt;
      });
    };
    *offset = at(loops_.size());
    SymInt again = *offset;
    for (size_t l = 0; l < loops_.size(); ++l) {
      strides->push_back(at(l) - *offset);
      again = again + strides->back() * loops_[l];
    }
    if (again == whole) return true;
    return reader_.Fail(position, "the index is not linear in the loops");
  }

  bool ParseAccess(int values, Access* access) {
    if (!ParseNumbered(reader_, "a", num_args_, &access->arg) || !reader_.Expect('[') ||
        !ParseLinear(&access->offset, &access->strides)) {
      return false;
    }
    while (reader_.Accept(',')) {
      IndexTerm term;
      if (!ParseNumbered(reader_, "", values, &term.value) || !reader_.Expect('*') ||
          !reader_.ParseSymInt(&term.stride) || !reader_.ExpectWord("in") ||
          !reader_.ParseSymInt(&term.bound)) {
        return false;
      }
      access->terms.push_back(term);
    }
    if (!reader_.Expect(']')) return false;
    if (!reader_.AcceptWord("if")) return true;
    while (reader_.Accept('(')) {
      Access::Guard guard;
      if (!ParseLinear(&guard.offset, &guard.strides) || !reader_.ExpectWord("in") ||
          !reader_.ParseSymInt(&guard.bound) || !reader_.Expect(')')) {
        return false;
      }
      access->guards.push_back(std::move(guard));
    }
    return reader_.ExpectWord("else") && ParseNumbered(reader_, "", values, &access->otherwise);
  }

  text::TextReader& reader_;
  std::vector<SymInt> loops_;
  int num_args_ = 0;
  int num_reductions_ = 0;
};

}  // namespace

bool ParseKernelText(text::TextReader& reader, Kernel* kernel) {
  return KernelParser(reader).Parse(kernel);
}

}  // namespace weft
