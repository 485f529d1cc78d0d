// SPDX-License-Identifier: Apache-2.0
#include "runtime/slim_cells.h"

#include <new>
#include <span>

#include "core/chain_rules.h"
#include "runtime/counters.h"

namespace deadheat::runtime {
namespace {

// The entries of a cell in a row, and back.
struct Listed {
  static constexpr int kMost = 64;
  CellEntry entries[kMost];
  int count = 0;

  explicit Listed(SlimPolicy::Cell& cell) {
    SlimPolicy::for_each_entry(cell, [&](CellEntry entry) { add(entry); });
  }
  void add(CellEntry entry) {
    if (count < kMost) {
      entries[count++] = entry;
    } else {
      count_loss(Loss::kNoCellBlock);
    }
  }
  void write_to(SlimPolicy::Cell& cell) const {
    for (int index = 0; index < 2; ++index) cell.entries[index] = index < count ? entries[index] : CellEntry{};
    if (count <= 2) {
      SlimPolicy::Cell rest;
      rest.more = cell.more;
      cell.more = nullptr;
      return SlimPolicy::release(rest);
    }
    if (cell.more == nullptr) cell.more = new (PageSource::allocate(sizeof(SlimPolicy::More))) SlimPolicy::More;
    cell.more->clear();
    for (int index = 2; index < count; ++index) cell.more->push_back(entries[index]);
  }
};

}  // namespace

SlimPolicy::Cell SlimPolicy::copy(const Cell& cell) {
  Cell twin = cell;
  if (cell.more != nullptr) twin.more = new (PageSource::allocate(sizeof(More))) More(*cell.more);
  return twin;
}

void SlimPolicy::release(Cell& cell) {
  if (cell.more == nullptr) return;
  cell.more->~More();
  PageSource::release(cell.more, sizeof(More));
  cell.more = nullptr;
}

bool SlimPolicy::is_settled(const Cell& cell, const CellAccess& access) {
  if (is_same_epoch(cell.entries[0], access) || is_same_epoch(cell.entries[1], access)) return true;
  if (cell.more == nullptr) return false;
  for (const CellEntry entry : *cell.more) {
    if (is_same_epoch(entry, access)) return true;
  }
  return false;
}

void SlimPolicy::apply(Cell& cell, const CellAccess& access, const ThreadView& view, CaughtRaces& caught) {
  using Step = ChainPlan::Step;
  Listed list(cell);
  for (int index = 0; index < list.count; ++index) {
    if (is_race(list.entries[index], access, view)) caught.add(list.entries[index]);
  }
  const ChainPlan plan = plan_chain({list.entries, static_cast<std::size_t>(list.count)}, access, view);
  if (plan.step == Step::kNothing) return;
  if (plan.step == Step::kShrink) {
    list.count = 0;
    list.add(plan.value);
    for (int index = 0; index < plan.staying; ++index) list.add(plan.stays[index]);
  } else if (plan.index >= 0) {
    list.entries[plan.index] = plan.value;
  } else {
    list.add(plan.value);
  }
  list.write_to(cell);
}

}  // namespace deadheat::runtime
