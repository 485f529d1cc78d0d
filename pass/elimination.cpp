// SPDX-License-Identifier: Apache-2.0
// The repeated accesses are found by a forward data flow over the blocks, as
// available expressions are: a fact is "these bytes were checked like this in
// this stretch". A fact begins at its access and ends with the stretch, or where its
// pointer is computed anew: then the name stands for another address (loops).
//
// An access is redundant if a fact that covers it holds at its place on all paths.
// It then begins its own fact all the same, which is implied by the other one.
//
// An access of a loop that is checked before or after it begins a fact, too: its check is
// certain. That check itself must then be there: a call of __deadheat_check is only
// redundant because of another one.
#include "elimination.h"

#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/PostOrderIterator.h"
#include "llvm/IR/CFG.h"
#include "place.h"
#include "stretches.h"

namespace deadheat::pass {

namespace {

struct Fact {
  Place place;
  Kind kind = Kind::kRead;
  bool is_of_call = false;  // of __deadheat_check

  [[nodiscard]] bool covers(const Fact& other) const {
    if (other.is_of_call && !is_of_call) return false;
    return place.contains(other.place) && (kind == Kind::kWrite || other.kind == Kind::kRead);
  }
  friend bool operator==(const Fact&, const Fact&) = default;
};

// What an access asks for, and what its check says afterwards: that of a store of a
// pointer to a virtual table may have found that it is no write.
Fact wanted_fact(const Access& access) {
  return {place_of(access), access.kind, llvm::isa<llvm::CallInst>(access.instruction)};
}
Fact resulting_fact(const Access& access) {
  Fact fact = wanted_fact(access);
  if (access.flavour == Flavour::kVptr) fact.kind = Kind::kRead;
  return fact;
}

// More is not worth the memory: the facts of each block are a set.
constexpr std::size_t kMaxFacts = 8192;

class RepeatedAccesses {
 public:
  RepeatedAccesses(llvm::Function& function, llvm::MutableArrayRef<Candidate> candidates,
                   const llvm::TargetLibraryInfo& library)
      : function_(function), candidates_(candidates), library_(library) {
    for (std::size_t at = 0; at < candidates.size(); ++at) {
      by_instruction_[candidates[at].access.instruction] = at;
      result_.push_back(number_of(resulting_fact(candidates[at].access)));
    }
  }

  std::size_t run() {
    if (facts_.size() > kMaxFacts || facts_.empty()) return 0;
    find_coverage();
    solve();
    std::size_t found = 0;
    for (llvm::BasicBlock& block : function_) {
      if (at_end_.contains(&block)) found += walk(block, Mode::kDecide);
    }
    return found;
  }

 private:
  enum class Mode : std::uint8_t { kSolve, kDecide };

  std::uint32_t number_of(const Fact& fact) {
    auto& same_base = by_base_[fact.place.base];
    for (const std::uint32_t number : same_base) {
      if (facts_[number] == fact) return number;
    }
    facts_.push_back(fact);
    same_base.push_back(static_cast<std::uint32_t>(facts_.size() - 1));
    return same_base.back();
  }

  // For each candidate the facts that make it redundant.
  void find_coverage() {
    covering_.resize(candidates_.size());
    for (std::size_t at = 0; at < candidates_.size(); ++at) {
      const Fact wanted = wanted_fact(candidates_[at].access);
      for (const std::uint32_t number : by_base_[wanted.place.base]) {
        if (facts_[number].covers(wanted)) covering_[at].push_back(number);
      }
    }
  }

  // What holds at the beginning of a block: what holds at the end of all before it.
  // Blocks that were not seen yet promise everything; that is taken back in time.
  llvm::BitVector at_begin(const llvm::BasicBlock& block) const {
    const auto size = static_cast<unsigned>(facts_.size());
    if (block.isEntryBlock() || llvm::pred_empty(&block)) return llvm::BitVector(size, false);
    llvm::BitVector facts(size, true);
    for (const llvm::BasicBlock* before : llvm::predecessors(&block)) {
      if (const auto end = at_end_.find(before); end != at_end_.end()) facts &= end->second;
    }
    return facts;
  }

  std::size_t walk(llvm::BasicBlock& block, Mode mode) {
    llvm::BitVector facts = at_begin(block);
    std::size_t found = 0;
    for (const llvm::Instruction& instruction : block) {
      if (ends_stretch(instruction, library_)) facts.reset();
      if (const auto defined = by_base_.find(&instruction); defined != by_base_.end()) {
        for (const std::uint32_t number : defined->second) facts.reset(number);
      }
      const auto known = by_instruction_.find(&instruction);
      if (known == by_instruction_.end()) continue;
      Candidate& candidate = candidates_[known->second];
      if (mode == Mode::kDecide && candidate.needs_check && is_covered(known->second, facts)) {
        candidate.needs_check = false;
        ++found;
      }
      facts.set(result_[known->second]);
    }
    if (mode == Mode::kSolve) changed_ |= set_end(block, std::move(facts));
    return found;
  }

  bool is_covered(std::size_t candidate, const llvm::BitVector& facts) const {
    return llvm::any_of(covering_[candidate], [&](std::uint32_t number) { return facts.test(number); });
  }

  bool set_end(const llvm::BasicBlock& block, llvm::BitVector facts) {
    const auto [place, is_new] = at_end_.try_emplace(&block, facts);
    if (is_new) return true;
    if (place->second == facts) return false;
    place->second = std::move(facts);
    return true;
  }

  void solve() {
    const llvm::ReversePostOrderTraversal<llvm::Function*> order(&function_);
    do {
      changed_ = false;
      for (llvm::BasicBlock* block : order) walk(*block, Mode::kSolve);
    } while (changed_);
  }

  llvm::Function& function_;
  llvm::MutableArrayRef<Candidate> candidates_;
  const llvm::TargetLibraryInfo& library_;
  llvm::DenseMap<const llvm::Instruction*, std::size_t> by_instruction_;
  llvm::SmallVector<Fact, 32> facts_;
  llvm::SmallVector<std::uint32_t, 32> result_;  // of each candidate
  llvm::SmallVector<llvm::SmallVector<std::uint32_t, 2>, 32> covering_;
  llvm::DenseMap<const llvm::Value*, llvm::SmallVector<std::uint32_t, 2>> by_base_;
  llvm::DenseMap<const llvm::BasicBlock*, llvm::BitVector> at_end_;
  bool changed_ = false;
};

// Calls visit(from, to) for the runs of candidates [from, to) that are in one block,
// with nothing between them that ends the stretch or may not continue.
template <class Visit>
void for_each_run(llvm::ArrayRef<Candidate> candidates, const llvm::TargetLibraryInfo& library, Visit&& visit) {
  std::size_t from = 0;
  for (std::size_t at = 1; at <= candidates.size(); ++at) {
    bool continues = at < candidates.size();
    if (continues) {
      const llvm::Instruction* last = candidates[at - 1].access.instruction;
      const llvm::Instruction* next = candidates[at].access.instruction;
      continues = last->getParent() == next->getParent();
      for (; continues && last != next; last = last->getNextNode()) {
        continues = !ends_stretch(*last, library) && !may_not_continue(*last, library);
      }
    }
    if (continues) continue;
    visit(from, at);
    from = at;
  }
}

// Whether the access may join: the same kind and pointer, and bytes that one check
// can ask for.
bool joins(CheckGroup& group, const Place& first, const Access& access, const Place& place) {
  const Access& leader = group.accesses[0];
  if (place.base != first.base || access.kind != leader.kind) return false;
  if (access.flavour != Flavour::kPlain || leader.flavour != Flavour::kPlain) return false;
  group.accesses.push_back(access);
  group.offsets.push_back(place.offset - first.offset);
  if (has_inline_check(group)) return true;
  group.accesses.pop_back();
  group.offsets.pop_back();
  return false;
}

}  // namespace

std::size_t eliminate_repeated(llvm::Function& function, llvm::MutableArrayRef<Candidate> candidates,
                               const llvm::TargetLibraryInfo& library) {
  return RepeatedAccesses(function, candidates, library).run();
}

std::size_t eliminate_reads_before_writes(llvm::MutableArrayRef<Candidate> candidates,
                                          const llvm::TargetLibraryInfo& library) {
  std::size_t found = 0;
  for_each_run(candidates, library, [&](std::size_t from, std::size_t to) {
    llvm::SmallVector<Place, 8> written;
    for (std::size_t at = to; at-- > from;) {
      Candidate& candidate = candidates[at];
      if (candidate.access.flavour != Flavour::kPlain) continue;
      const Place place = place_of(candidate.access);
      if (candidate.access.is_write()) {
        written.push_back(place);
      } else if (candidate.needs_check &&
                 llvm::any_of(written, [&](const Place& write) { return write.contains(place); })) {
        candidate.needs_check = false;
        ++found;
      }
    }
  });
  return found;
}

llvm::SmallVector<CheckGroup, 16> group_neighbours(llvm::ArrayRef<Candidate> candidates,
                                                   const llvm::TargetLibraryInfo& library) {
  llvm::SmallVector<CheckGroup, 16> groups;
  for_each_run(candidates, library, [&](std::size_t from, std::size_t to) {
    const std::size_t first_group = groups.size();
    llvm::SmallVector<Place, 8> leaders;
    for (std::size_t at = from; at < to; ++at) {
      if (!candidates[at].needs_check) continue;
      const Access& access = candidates[at].access;
      const Place place = place_of(access);
      bool joined = false;
      for (std::size_t group = first_group; group < groups.size() && !joined; ++group) {
        joined = joins(groups[group], leaders[group - first_group], access, place);
      }
      if (joined) continue;
      groups.push_back({access.instruction, {access}, {0}});
      leaders.push_back(place);
    }
  });
  return groups;
}

}  // namespace deadheat::pass
