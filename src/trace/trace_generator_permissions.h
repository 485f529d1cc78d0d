// SPDX-License-Identifier: Apache-2.0
// Permissions: what makes a generated trace race-free by construction.
//
// Memory is divided into items (disjoint ranges of bytes). An item is either
// guarded by a lock, and then holding the lock is the permission, or it has
// *shares*, which threads hold:
//
//   - whoever holds a share may read (plainly or atomically);
//   - whoever holds all shares may also write, and free.
//
// A share is never copied, only split (which raises the total), merged with
// another share of the same item in the same hands, or passed on. It is passed
// on only along an edge of happens-before: into a mailbox by an operation that
// releases, out of it by an operation that acquires from the former. So a
// reader happens after the last write, because the writer held all shares then
// and the reader's came from there; and a writer happens after all accesses of
// others, because their shares had to come back first. That is the argument of
// fractional permissions in separation logic, and it is all the proof needed.
//
// Which mailbox an operation uses, and what loses mail:
//   fork, join         directly from parent to child, from the exited to the joiner
//   semaphore, tag, once flag, barrier phase   a mailbox; nothing is lost
//   atomic variable    a release operation puts, an acquire operation takes. A
//                      store that is not an RMW replaces the location's clock,
//                      so mail already there can no longer be received: it goes
//                      back to its senders, who are the last to have used it.
//   fence(release)     parks shares; the next store or RMW of the thread puts them
//   relaxed load       parks shares; the next fence(acquire) of the thread takes them
//
// A store by the same thread is treated as a cut too, hence the trace is
// race-free under the release sequences of C++11 and under those of C++20.
//
// A freed block's shares are void: the item's generation has moved on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/random.h"
#include "model/identity.h"

namespace deadheat::generator {

using ItemIndex = std::uint32_t;
using LockIndex = std::uint32_t;
using Slot = std::uint32_t;  // place of a live thread; reused after the thread is gone
inline constexpr std::uint32_t kNobody = UINT32_MAX;

// How an item changes hands, apart from being guarded by a lock.
enum class Custody : std::uint8_t {
  kLock,      // permission is by lock
  kOwned,     // moves only to the thread that takes over its home slot, or to a joiner
  kReadOnly,  // every fork splits a share for the child
  kPassed,    // moves with any message
};

struct Item {
  Address address = 0;
  std::uint64_t size = 0;
  Custody custody = Custody::kPassed;
  LockIndex lock = kNobody;  // kLock
  Slot home = kNobody;       // kOwned
  std::uint32_t generation = 0;
  std::uint32_t total = 0;  // shares in existence; 0 for a block that is not allocated
};

struct Share {
  ItemIndex item = 0;
  std::uint32_t generation = 0;
  std::uint32_t count = 0;
};

// A share under way, still the sender's until somebody receives it.
struct Mail {
  Slot sender = 0;  // kNobody: it cannot come back
  Share share;
};
using Mailbox = std::vector<Mail>;

class Permissions {
 public:
  explicit Permissions(std::uint32_t slots) : holdings_(slots), in_flight_(slots, 0) {}

  ItemIndex add(const Item& item) {
    items_.push_back(item);
    return static_cast<ItemIndex>(items_.size() - 1);
  }
  [[nodiscard]] Item& item(ItemIndex index) { return items_[index]; }
  [[nodiscard]] const Item& item(ItemIndex index) const { return items_[index]; }
  [[nodiscard]] std::size_t item_count() const { return items_.size(); }

  // The shares a thread holds; may contain void ones.
  [[nodiscard]] const std::vector<Share>& holdings(Slot slot) const { return holdings_[slot]; }
  [[nodiscard]] bool is_valid(const Share& share) const { return share.generation == items_[share.item].generation; }
  [[nodiscard]] bool is_whole(const Share& share) const {
    return is_valid(share) && share.count == items_[share.item].total;
  }
  // Whether the thread still has mail that may come back to it.
  [[nodiscard]] bool has_mail_out(Slot slot) const { return in_flight_[slot] != 0; }
  [[nodiscard]] bool holds_anything(Slot slot);

  // All shares of the item to this thread; for items that nobody holds.
  void grant(Slot slot, ItemIndex item);
  // Voids all shares of the item.
  void revoke(ItemIndex item);

  // Puts a random part of what the sender may pass on into the mailbox.
  void send(Slot sender, Mailbox& mailbox, Random& random);
  // Puts all that the sender holds into the mailbox.
  void send_all(Slot sender, Mailbox& mailbox);
  // Makes the mail independent of its senders; for mailboxes that lose nothing.
  void disown(Mailbox& mailbox);
  // Takes a random part, mostly what others sent. Returns one of the items
  // received, or kNobody.
  ItemIndex receive(Slot receiver, Mailbox& mailbox, Random& random);
  // Gives everything to the receiver; returns as receive() does.
  ItemIndex receive_all(Slot receiver, Mailbox& mailbox);
  // Gives everything back to the senders; not for disowned mail.
  void recall(Mailbox& mailbox);
  // What a new thread gets from its parent.
  void endow(Slot parent, Slot child, Random& random);
  // Everything, from a thread that has exited to the one that joined it;
  // returns as receive() does.
  ItemIndex inherit(Slot exited, Slot joiner);

 private:
  void give(Slot slot, const Share& share);
  void deliver(Slot receiver, const Mail& mail);
  // Parts `count` shares from the holding at the position; true when nothing is left there.
  bool part(Slot slot, std::size_t position, std::uint32_t count);
  // How many of a holding's shares to pass on: all, or one (split if need be).
  std::uint32_t portion(Share& holding, Random& random);

  std::vector<Item> items_;
  std::vector<std::vector<Share>> holdings_;
  std::vector<std::uint32_t> in_flight_;
};

}  // namespace deadheat::generator
