// SPDX-License-Identifier: Apache-2.0
#include "trace/trace_generator_permissions.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace deadheat::generator {

namespace {

// Splitting stops here; merges make room again. Keeps mailboxes short.
constexpr std::uint32_t kMostShares = 16;

}  // namespace

bool Permissions::holds_anything(Slot slot) {
  std::erase_if(holdings_[slot], [this](const Share& share) { return !is_valid(share); });
  return !holdings_[slot].empty();
}

void Permissions::give(Slot slot, const Share& share) {
  if (!is_valid(share)) return;
  for (Share& held : holdings_[slot]) {
    if (held.item == share.item && held.generation == share.generation) {
      held.count += share.count;
      return;
    }
  }
  holdings_[slot].push_back(share);
}

void Permissions::deliver(Slot receiver, const Mail& mail) {
  if (mail.sender != kNobody) {
    DEADHEAT_DCHECK(in_flight_[mail.sender] > 0);
    --in_flight_[mail.sender];
  }
  give(receiver, mail.share);
}

bool Permissions::part(Slot slot, std::size_t position, std::uint32_t count) {
  std::vector<Share>& held = holdings_[slot];
  DEADHEAT_DCHECK(held[position].count >= count);
  held[position].count -= count;
  if (held[position].count != 0) return false;
  held.erase(held.begin() + static_cast<std::ptrdiff_t>(position));
  return true;
}

std::uint32_t Permissions::portion(Share& holding, Random& random) {
  if (random.below(6) != 0) return holding.count;
  if (holding.count == 1) {
    Item& item = items_[holding.item];
    if (item.total >= kMostShares) return 1;
    ++item.total;
    ++holding.count;
  }
  return 1;
}

void Permissions::grant(Slot slot, ItemIndex index) {
  Item& item = items_[index];
  item.total = 1;
  give(slot, {index, item.generation, 1});
}

void Permissions::revoke(ItemIndex index) {
  ++items_[index].generation;
  items_[index].total = 0;
}

void Permissions::send(Slot sender, Mailbox& mailbox, Random& random) {
  for (std::size_t i = 0; i < holdings_[sender].size();) {
    Share& holding = holdings_[sender][i];
    if (items_[holding.item].custody != Custody::kPassed || !is_valid(holding) || random.below(4) == 0) {
      ++i;
      continue;
    }
    const std::uint32_t count = portion(holding, random);
    mailbox.push_back({sender, {holding.item, holding.generation, count}});
    ++in_flight_[sender];
    if (!part(sender, i, count)) ++i;
  }
}

void Permissions::send_all(Slot sender, Mailbox& mailbox) {
  for (const Share& share : holdings_[sender]) {
    if (!is_valid(share)) continue;
    mailbox.push_back({sender, share});
    ++in_flight_[sender];
  }
  holdings_[sender].clear();
}

void Permissions::disown(Mailbox& mailbox) {
  for (Mail& mail : mailbox) {
    if (mail.sender != kNobody) --in_flight_[mail.sender];
    mail.sender = kNobody;
  }
}

ItemIndex Permissions::receive(Slot receiver, Mailbox& mailbox, Random& random) {
  ItemIndex received = kNobody;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < mailbox.size(); ++i) {
    const std::uint64_t chances = mailbox[i].sender == receiver ? 1 : 6;
    if (random.below(8) < chances) {
      received = mailbox[i].share.item;
      deliver(receiver, mailbox[i]);
    } else {
      mailbox[kept++] = mailbox[i];
    }
  }
  mailbox.resize(kept);
  return received;
}

ItemIndex Permissions::receive_all(Slot receiver, Mailbox& mailbox) {
  const ItemIndex received = mailbox.empty() ? kNobody : mailbox.back().share.item;
  for (const Mail& mail : mailbox) deliver(receiver, mail);
  mailbox.clear();
  return received;
}

void Permissions::recall(Mailbox& mailbox) {
  for (const Mail& mail : mailbox) deliver(mail.sender, mail);
  mailbox.clear();
}

void Permissions::endow(Slot parent, Slot child, Random& random) {
  for (std::size_t i = 0; i < holdings_[parent].size();) {
    Share& holding = holdings_[parent][i];
    if (!is_valid(holding)) {
      part(parent, i, holding.count);
      continue;
    }
    Item& item = items_[holding.item];
    std::uint32_t count = 0;
    if (item.custody == Custody::kReadOnly) {
      ++item.total;
      ++holding.count;
      count = 1;
    } else if (item.custody == Custody::kOwned) {
      count = item.home == child ? holding.count : 0;
    } else if (random.below(3) != 0) {
      count = portion(holding, random);
    }
    if (count != 0) give(child, {holding.item, holding.generation, count});
    if (count == 0 || !part(parent, i, count)) ++i;
  }
}

ItemIndex Permissions::inherit(Slot exited, Slot joiner) {
  const ItemIndex received = holdings_[exited].empty() ? kNobody : holdings_[exited].back().item;
  for (const Share& share : holdings_[exited]) give(joiner, share);
  holdings_[exited].clear();
  return received;
}

}  // namespace deadheat::generator
