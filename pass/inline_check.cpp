// SPDX-License-Identifier: Apache-2.0
// An entry settles an access if it has the thread's epoch, all bytes of the access
// and a kind that subsumes its kind. The bits of an entry are
//
//   epoch:32 mask:8 kind:2 origin:22
//
// so with x = entry ^ epoch the answer is ((x ^ mask) & care) == 0, where `care`
// leaves out the origin, bytes of the word that are none of ours, and for a read
// the low bit of the kind (write 0, read 1, atomic write 2, atomic read 3).
//
// Where the position of the access in its word is known at compile time, all but
// the entry and the epoch are constants. Otherwise the mask is shifted by the
// low bits of the address. An access that may cross words is looked at in the
// word of its first and in that of its last byte; if they are the same word, the
// second look has no bytes left to ask for and adds nothing.
#include "inline_check.h"

#include <algorithm>
#include <optional>
#include <string>

#include "llvm/ADT/SmallString.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/MDBuilder.h"
#include "llvm/Support/KnownBits.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"

namespace deadheat::pass {

namespace {

constexpr int kOriginBits = 22;
constexpr int kMaskShift = 24;
constexpr std::uint64_t kEpochBits = 0xffffffff00000000ULL;
constexpr std::uint64_t kCellSize = 16;
constexpr std::uint64_t kMaxInlineBytes = 64;
constexpr std::uint64_t kMaxGroupBytes = 32;

// The bits of the kind, and all above the origin.
std::uint64_t kind_care(Kind kind) { return std::uint64_t{kind == Kind::kWrite ? 3U : 2U} << kOriginBits; }

// One word to look at: its cell, and the bytes of it, where an entry has them.
struct WordTerm {
  llvm::Value* cell = nullptr;
  llvm::Value* mask = nullptr;  // not a constant: 64 bits, where an entry has them
  std::uint8_t bytes = 0;       // a constant
};

using Terms = llvm::SmallVector<WordTerm, 4>;

// All bytes that a group touches, relative to its first access.
struct Extent {
  std::int64_t low = 0;
  std::int64_t high = 0;
  bool has_gaps = false;
  std::optional<unsigned> position;  // of `low` in its word
  llvm::Align align;                 // of `low`
};

std::optional<unsigned> known_position(const Access& access, const llvm::DataLayout& layout) {
  if (access.align >= 8) return 0;
  const llvm::KnownBits bits = llvm::computeKnownBits(access.address, layout);
  const llvm::APInt known = bits.Zero | bits.One;
  if (known.countr_one() < 3) return std::nullopt;
  return static_cast<unsigned>(bits.One.extractBitsAsZExtValue(3, 0));
}

Extent extent_of(const CheckGroup& group, const llvm::DataLayout& layout) {
  Extent extent;
  extent.low = extent.high = group.offsets[0];
  for (std::size_t at = 0; at < group.accesses.size(); ++at) {
    extent.low = std::min(extent.low, group.offsets[at]);
    extent.high = std::max(extent.high, group.offsets[at] + static_cast<std::int64_t>(group.accesses[at].size));
  }
  std::uint64_t covered = 0;
  for (std::size_t at = 0; at < group.accesses.size(); ++at) {
    const Access& access = group.accesses[at];
    const auto distance = static_cast<std::uint64_t>(group.offsets[at] - extent.low);
    if (const auto position = known_position(access, layout)) {
      extent.position = static_cast<unsigned>((*position - distance) & 7U);
    }
    extent.align = std::max(extent.align, llvm::commonAlignment(access.align, distance));
    if (distance < 64) covered |= (access.size >= 64 ? ~0ULL : (1ULL << access.size) - 1) << distance;
  }
  const auto size = static_cast<std::uint64_t>(extent.high - extent.low);
  extent.has_gaps = size < 64 && covered != (1ULL << size) - 1;
  return extent;
}

class CheckWriter {
 public:
  CheckWriter(RuntimeSymbols& runtime, const CheckGroup& group)
      : runtime_(runtime), group_(group), kind_(group.accesses[0].kind), builder_(group.before) {
    builder_.SetCurrentDebugLocation(group.accesses[0].instruction->getDebugLoc());
  }

  void write() {
    const Extent extent = extent_of(group_, runtime_.module().getDataLayout());
    const Terms terms = terms_of(extent);
    epoch_ = runtime_.epoch(builder_);
    llvm::SmallVector<llvm::Value*, 4> wanted_bits;
    for (const WordTerm& term : terms) wanted_bits.push_back(wanted(term));
    llvm::SmallVector<llvm::Value*, 4> first;
    for (std::size_t at = 0; at < terms.size(); ++at) first.push_back(what_is_missing(terms[at], 0, wanted_bits[at]));
    llvm::MDBuilder metadata(builder_.getContext());
    auto* second_tier = llvm::SplitBlockAndInsertIfThen(is_set(what_counts(any_of(first))), group_.before,
                                                        /*Unreachable=*/false, metadata.createBranchWeights(1, 4096));
    builder_.SetInsertPoint(second_tier);
    epoch_ = runtime_.second_epoch(builder_);
    wanted_.clear();
    llvm::SmallVector<llvm::Value*, 4> both;
    for (std::size_t at = 0; at < terms.size(); ++at) {
      llvm::Value* second = what_counts(what_is_missing(terms[at], 1, wanted(terms[at])));
      if (terms.size() == 1) {
        both.push_back(second);
      } else {
        both.push_back(builder_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, what_counts(first[at]), second));
      }
    }
    auto* call_place = llvm::SplitBlockAndInsertIfThen(is_set(any_of(both)), second_tier, /*Unreachable=*/false,
                                                       metadata.createBranchWeights(1, 64));
    builder_.SetInsertPoint(call_place);
    for (std::size_t at = 0; at < group_.accesses.size(); ++at) {
      Access access = group_.accesses[at];
      builder_.SetCurrentDebugLocation(access.instruction->getDebugLoc());
      // The address of a later access may not be computed yet.
      if (at != 0) access.address = builder_.CreatePtrAdd(group_.accesses[0].address, distance(group_.offsets[at]));
      runtime_.call_cold_hook(builder_, access);
    }
  }

 private:
  llvm::Value* distance(std::int64_t offset) { return builder_.getInt64(static_cast<std::uint64_t>(offset)); }

  llvm::Value* address_at(std::int64_t offset) {
    llvm::Value* address = builder_.CreatePtrToInt(group_.accesses[0].address, builder_.getInt64Ty());
    return offset == 0 ? address : builder_.CreateAdd(address, distance(offset));
  }

  llvm::Value* cell_of(llvm::Value* address) {
    llvm::Value* twice = builder_.CreateShl(address, 1);
    return builder_.CreateXor(builder_.CreateAnd(twice, runtime_.cell_mask(builder_)), runtime_.cell_key(builder_));
  }
  llvm::Value* next_cell(llvm::Value* cell, std::uint64_t words) {
    return words == 0 ? cell : builder_.CreateAdd(cell, builder_.getInt64(words * kCellSize));
  }

  // The mask of `size` bytes from the address on, where an entry of its word has it;
  // what belongs to the next words is above.
  llvm::Value* shifted_mask(llvm::Value* address, std::uint64_t size) {
    return builder_.CreateShl(builder_.getInt64(((1ULL << size) - 1) << kMaskShift),
                              builder_.CreateAnd(address, builder_.getInt64(7)));
  }

  Terms terms_of(const Extent& extent) {
    llvm::Value* address = address_at(extent.low);
    llvm::Value* cell = cell_of(address);
    const auto size = static_cast<std::uint64_t>(extent.high - extent.low);
    Terms terms;
    if (extent.position) {
      for (std::uint64_t word = 0; word * 8 < *extent.position + size; ++word) {
        const std::uint8_t bytes = bytes_in_word(extent, word);
        if (bytes != 0) terms.push_back({next_cell(cell, word), nullptr, bytes});
      }
      return terms;
    }
    llvm::Value* mask = shifted_mask(address, size);
    constexpr std::uint64_t kWordMask = 0xffULL << kMaskShift;
    if (extent.align.value() >= size) return {{cell, mask, 0}};
    llvm::Value* last = cell_of(builder_.CreateAdd(address, builder_.getInt64(size - 1)));
    terms.push_back({cell, builder_.CreateAnd(mask, kWordMask), 0});
    if (size > 8) terms.push_back({next_cell(cell, 1), builder_.CreateAnd(builder_.CreateLShr(mask, 8), kWordMask), 0});
    terms.push_back({last, builder_.CreateAnd(builder_.CreateLShr(mask, size > 8 ? 16 : 8), kWordMask), 0});
    return terms;
  }

  // The bytes of the group's accesses in a word, counted from that of the lowest.
  std::uint8_t bytes_in_word(const Extent& extent, std::uint64_t word) const {
    const auto word_begin = static_cast<std::int64_t>(word * 8) - static_cast<std::int64_t>(*extent.position);
    unsigned bytes = 0;
    for (std::size_t at = 0; at < group_.accesses.size(); ++at) {
      const std::int64_t begin = group_.offsets[at] - extent.low;
      const std::int64_t end = begin + static_cast<std::int64_t>(group_.accesses[at].size);
      for (int byte = 0; byte < 8; ++byte) {
        if (word_begin + byte >= begin && word_begin + byte < end) bytes |= 1U << byte;
      }
    }
    return static_cast<std::uint8_t>(bytes);
  }

  // The epoch and the bytes of the term, as a settled entry has them.
  llvm::Value* wanted(const WordTerm& term) {
    if (term.mask != nullptr) return builder_.CreateXor(epoch_, term.mask);
    llvm::Value*& known = wanted_[term.bytes];
    if (known == nullptr) known = builder_.CreateXor(epoch_, std::uint64_t{term.bytes} << kMaskShift);
    return known;
  }

  // In the bits above the origin and the don't-cares of the kind: 0 if the entry
  // settles all of the term.
  llvm::Value* what_is_missing(const WordTerm& term, std::uint64_t entry, llvm::Value* wanted) {
    llvm::Value* place = entry == 0 ? term.cell : builder_.CreateAdd(term.cell, builder_.getInt64(8 * entry));
    llvm::LoadInst* load =
        runtime_.load(builder_, builder_.getInt64Ty(), builder_.CreateIntToPtr(place, builder_.getPtrTy()));
    // Others change entries at any time: one load, whole.
    load->setAtomic(llvm::AtomicOrdering::Unordered);
    llvm::Value* difference = builder_.CreateXor(load, wanted);
    const std::uint64_t care = kEpochBits | kind_care(kind_);
    if (term.mask != nullptr) return builder_.CreateAnd(difference, builder_.CreateOr(term.mask, care));
    if (term.bytes == 0xff) return difference;
    return builder_.CreateAnd(difference, care | std::uint64_t{term.bytes} << kMaskShift);
  }

  // Without what no term asks for.
  llvm::Value* what_counts(llvm::Value* difference) {
    return builder_.CreateLShr(difference, kind_ == Kind::kWrite ? kOriginBits : kOriginBits + 1);
  }

  llvm::Value* any_of(llvm::ArrayRef<llvm::Value*> missing) {
    llvm::Value* all = missing[0];
    for (llvm::Value* more : missing.drop_front()) all = builder_.CreateOr(all, more);
    return all;
  }
  llvm::Value* is_set(llvm::Value* value) { return builder_.CreateICmpNE(value, builder_.getInt64(0)); }

  RuntimeSymbols& runtime_;
  const CheckGroup& group_;
  Kind kind_;
  llvm::IRBuilder<> builder_;
  llvm::Value* epoch_ = nullptr;
  llvm::SmallDenseMap<unsigned, llvm::Value*, 4> wanted_;  // by bytes
};

}  // namespace

RuntimeSymbols::RuntimeSymbols(llvm::Module& module) : module_(module) {
  llvm::Type* type = llvm::ArrayType::get(llvm::Type::getInt64Ty(module.getContext()), 11);
  thread_ = llvm::cast<llvm::GlobalVariable>(module.getOrInsertGlobal("__deadheat_thread", type));
  thread_->setThreadLocalMode(llvm::GlobalVariable::InitialExecTLSModel);
}

llvm::FunctionCallee RuntimeSymbols::function(const llvm::Twine& name, llvm::ArrayRef<llvm::Type*> parameters) {
  llvm::LLVMContext& context = module_.getContext();
  llvm::AttributeList attributes;
  attributes = attributes.addFnAttribute(context, llvm::Attribute::NoUnwind);
  llvm::SmallString<32> buffer;
  return module_.getOrInsertFunction(
      name.toStringRef(buffer), llvm::FunctionType::get(llvm::Type::getVoidTy(context), parameters, false), attributes);
}

llvm::Value* RuntimeSymbols::member(llvm::IRBuilder<>& builder, unsigned index) {
  // Not by way of an address that is computed once: a function may go on in another
  // thread after it has switched stacks.
  return builder.CreateConstInBoundsGEP2_64(thread_->getValueType(), thread_, 0, index);
}

llvm::Value* RuntimeSymbols::number(llvm::IRBuilder<>& builder, unsigned index) {
  return load(builder, builder.getInt64Ty(), member(builder, index));
}

llvm::Value* RuntimeSymbols::runs_unchecked(llvm::IRBuilder<>& builder) {
  llvm::LoadInst* word = load(builder, builder.getInt64Ty(), member(builder, 8));
  word->setVolatile(true);  // another thread changes it: to be asked for each time
  return word;
}

llvm::Value* RuntimeSymbols::begin_unseen(llvm::IRBuilder<>& builder) {
  llvm::LoadInst* before = load(builder, builder.getInt64Ty(), member(builder, 9));
  before->setVolatile(true);
  store(builder, builder.CreateAdd(before, builder.getInt64(1)), member(builder, 9))->setVolatile(true);
  return before;
}

// What was there before, not one less: a handler that never came back must not count.
void RuntimeSymbols::end_unseen(llvm::IRBuilder<>& builder, llvm::Value* before) {
  store(builder, before, member(builder, 9))->setVolatile(true);
}

void RuntimeSymbols::note_progress(llvm::IRBuilder<>& builder, llvm::Value& more) {
  store(builder, builder.CreateAdd(number(builder, 10), &more), member(builder, 10));
}

llvm::Value* RuntimeSymbols::pointer(llvm::IRBuilder<>& builder, unsigned index) {
  return load(builder, builder.getPtrTy(), member(builder, index));
}

llvm::LoadInst* RuntimeSymbols::load(llvm::IRBuilder<>& builder, llvm::Type* type, llvm::Value* place) {
  llvm::LoadInst* load = builder.CreateAlignedLoad(type, place, llvm::Align(8));
  load->setMetadata(llvm::LLVMContext::MD_nosanitize, llvm::MDNode::get(builder.getContext(), {}));
  return load;
}

llvm::StoreInst* RuntimeSymbols::store(llvm::IRBuilder<>& builder, llvm::Value* value, llvm::Value* place) {
  llvm::StoreInst* store = builder.CreateAlignedStore(value, place, llvm::Align(8));
  store->setMetadata(llvm::LLVMContext::MD_nosanitize, llvm::MDNode::get(builder.getContext(), {}));
  return store;
}

llvm::CallInst* RuntimeSymbols::call_hook(llvm::IRBuilder<>& builder, const Access& access) {
  llvm::Type* pointer = builder.getPtrTy();
  if (access.flavour == Flavour::kVptr) {
    if (!access.is_write()) return builder.CreateCall(function("__tsan_vptr_read", {pointer}), {access.address});
    llvm::Value* value = llvm::cast<llvm::StoreInst>(access.instruction)->getValueOperand();
    // Two of them in one store, or as a number.
    if (value->getType()->isVectorTy()) value = builder.CreateExtractElement(value, std::uint64_t{0});
    if (value->getType()->isIntegerTy()) value = builder.CreateIntToPtr(value, pointer);
    return builder.CreateCall(function("__tsan_vptr_update", {pointer, pointer}), {access.address, value});
  }
  if (!is_common_size(access)) {
    return builder.CreateCall(
        function(access.is_write() ? "__tsan_write_range" : "__tsan_read_range", {pointer, builder.getInt64Ty()}),
        {access.address, builder.getInt64(access.size)});
  }
  return call_sized_hook(builder, "__tsan_", access);
}

void RuntimeSymbols::call_cold_hook(llvm::IRBuilder<>& builder, const Access& access) {
  llvm::CallInst* call = nullptr;
  if (access.flavour == Flavour::kPlain && is_common_size(access)) {
    call = call_sized_hook(builder, "__deadheat_", access);
    llvm::cast<llvm::Function>(call->getCalledOperand())->setCallingConv(llvm::CallingConv::PreserveMost);
    call->setCallingConv(llvm::CallingConv::PreserveMost);
  } else {
    call = call_hook(builder, access);
  }
  call->addFnAttr(llvm::Attribute::Cold);
}

void RuntimeSymbols::call_leaf_hook(llvm::IRBuilder<>& builder, const llvm::CallInst& cold, llvm::Value* caller) {
  llvm::StringRef name = cold.getCalledFunction()->getName();
  name.consume_front("__deadheat_");
  llvm::SmallVector<llvm::Value*, 5> arguments(cold.args());
  arguments.push_back(caller);
  llvm::SmallVector<llvm::Type*, 5> types;
  for (const llvm::Value* argument : arguments) types.push_back(argument->getType());
  llvm::FunctionCallee hook = function("__deadheat_leaf_" + name, types);
  llvm::cast<llvm::Function>(hook.getCallee())->setCallingConv(llvm::CallingConv::PreserveMost);
  llvm::CallInst* call = builder.CreateCall(hook, arguments);
  call->setCallingConv(llvm::CallingConv::PreserveMost);
  call->addFnAttr(llvm::Attribute::Cold);
  call->setDebugLoc(cold.getDebugLoc());
}

llvm::CallInst* RuntimeSymbols::call_function_entry(llvm::IRBuilder<>& builder, llvm::Value* caller) {
  return builder.CreateCall(function("__tsan_func_entry", {builder.getPtrTy()}), {caller});
}

llvm::CallInst* RuntimeSymbols::call_sized_hook(llvm::IRBuilder<>& builder, llvm::StringRef prefix,
                                                const Access& access) {
  const bool is_aligned = access.align.value() >= std::min<std::uint64_t>(access.size, 8);
  llvm::SmallString<32> name(prefix);
  if (!is_aligned) name += "unaligned_";
  name += access.is_write() ? "write" : "read";
  name += std::to_string(access.size);
  return builder.CreateCall(function(name, {builder.getPtrTy()}), {access.address});
}

bool has_inline_check(const CheckGroup& group) {
  const Extent extent = extent_of(group, group.before->getModule()->getDataLayout());
  const auto size = static_cast<std::uint64_t>(extent.high - extent.low);
  if (extent.position) return size <= (group.accesses.size() == 1 ? kMaxInlineBytes : kMaxGroupBytes);
  return size <= 16 && !extent.has_gaps;
}

void emit_check(RuntimeSymbols& runtime, const CheckGroup& group) {
  if (has_inline_check(group)) return CheckWriter(runtime, group).write();
  llvm::IRBuilder<> builder(group.before);
  for (const Access& access : group.accesses) {
    builder.SetCurrentDebugLocation(access.instruction->getDebugLoc());
    runtime.call_hook(builder, access);
  }
}

}  // namespace deadheat::pass
