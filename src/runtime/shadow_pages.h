// SPDX-License-Identifier: Apache-2.0
// Pages of cells that are mapped before they are written.
//
// A page of cells that is read first, and all are, gets the system's page of zeros,
// and a page of its own at the first write. That second fault costs more than
// twice the first: the old mapping may be known to other processors, which have
// to be interrupted. So memory that is about to be used gets its pages of cells
// in advance, a granule of them by one call.
//
// All of this is about speed; the cells are zero before and after.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "model/identity.h"

namespace deadheat::runtime {

// Reserves the table of granules; false if refused: then nothing is prepared.
bool map_shadow_pages();

// The program is about to use this memory.
void prepare_cells(Address begin, std::size_t size);
// The same for memory whose cells are empty and stay so during the call.
void renew_cells(Address begin, std::size_t size);
// The pages of cells that lie in the range wholly have gone back to the system.
void cells_are_given_back(Address begin, std::size_t size);
void all_cells_are_given_back();

// A process that samples prepares nothing: most of its memory never has a record.
// There the table says where records may be. A granule is what one page of cells describes,
// so that records that lie far apart cost a page each and no more.
inline constexpr int kGranuleShift = 11;  // of the program's memory; its cells take twice as much
enum class GranuleState : std::uint8_t {
  kNothing,   // no records, nor a page of cells that is kept
  kSpare,     // no records; its page of cells is kept, because periods come back to the same memory
  kStale,     // the same, but the cells are as the last records have left them: whoever wants to use them empties them
  kEmptying,  // no records: one thread is emptying the stale cells, and whoever wants to use them waits
  kRecords,   // perhaps
  kChains,    // and some that are not in the cells themselves
  kBulk,      // all of loops: whoever records more of that kind takes the granule for himself meanwhile
  kFilling,   // one thread is writing records there, and nobody else does
};
[[nodiscard]] constexpr Address end_of_granule(Address address) {
  return ((address >> kGranuleShift) + 1) << kGranuleShift;
}
[[gnu::visibility("hidden")]] extern std::atomic<std::atomic<std::uint8_t>*> granules;
[[nodiscard]] inline bool may_have_records(Address address) {
  const std::atomic<std::uint8_t>* const table = granules.load(std::memory_order_relaxed);
  // Pairs with the end of emptying: what is found in the cells then is newer.
  return table == nullptr || table[address >> kGranuleShift].load(std::memory_order_acquire) >=
                                 static_cast<std::uint8_t>(GranuleState::kRecords);
}
[[nodiscard]] bool may_have_records(Address begin, std::size_t size);
// An entry is about to be put there. Any thread.
void note_record(Address address);
// A cell whose records were noted is about to get a link to further ones. False: it has no records any more.
bool note_chain(Address address);
[[nodiscard]] bool has_chains(Address granule);
// A cell that has entries and yet no records: what is left of an earlier period. The cells of the granule are empty
// then. False: it is not such a one.
bool empty_if_stale(Address address);

// Granules without records that the current thread takes for itself, from that of `begin` on, as far as there are such
// before `end`. Their cells are empty, and until this goes nobody else puts anything into them: so entries can be
// stored as they are, instead of by a compare-and-swap each. Others that want to record something there wait. Inside
// a RuntimeScope.
class FreshGranules {
 public:
  FreshGranules(Address begin, Address end);
  ~FreshGranules();
  FreshGranules(const FreshGranules&) = delete;
  FreshGranules& operator=(const FreshGranules&) = delete;

  // The end of the last one, or where they would begin.
  [[nodiscard]] Address end() const { return end_; }

 private:
  static constexpr std::uint32_t kMost = 256;

  Address begin_;
  Address end_;
};

// A granule in which only loops have recorded anything so far (kBulk), taken by the current thread for itself: nobody
// else publishes an entry there, and the thread does it by stores. Others that want to record something wait. Inside
// a RuntimeScope.
class BulkGranule {
 public:
  explicit BulkGranule(Address address);
  ~BulkGranule();
  BulkGranule(const BulkGranule&) = delete;
  BulkGranule& operator=(const BulkGranule&) = delete;

  // If not, it is for note_record().
  [[nodiscard]] bool is_taken() const { return is_taken_; }
  // Others, too, record there from now on, word by word.
  void open_to_all() { afterwards_ = GranuleState::kRecords; }

 private:
  Address granule_;
  GranuleState afterwards_ = GranuleState::kBulk;
  bool is_taken_ = false;
};

// All cells of the granule were seen to be empty, in a time in which nobody records anything (quiet_time in
// sampling.h): from then on that shows without looking at them.
void note_emptied(Address granule);
// Calls is_empty for the granules that may have records. It returns whether all cells of the granule are empty, both
// entries: then its page of cells is kept or given back, as with drop_granules(). Nobody records anything meanwhile.
void sweep_granules(bool (*is_empty)(Address granule));
// Asks for each granule that may have records what becomes of it, until one has to stay. Pages of cells are kept, up to
// a limit, and those that were not used for long given back. Returns how many granules are left. Nobody records
// anything meanwhile.
enum class Drop : std::uint8_t {
  kNo,
  kEmptied,  // its cells are emptied
  kStale,    // it has no chains, and whoever uses its cells next empties them: often nobody, and others sooner
};
std::uint32_t drop_granules(Drop (*what_becomes_of)(Address granule, void* argument), void* argument);
// How many may have records.
[[nodiscard]] std::uint32_t granules_with_records();
// How long the list of pages that are kept is; for tests.
[[nodiscard]] std::uint32_t spares_listed();
// fork: the lock of that table.
void lock_granules();
void unlock_granules();
// In the child of a fork. What another thread was about to do there is not done.
void unlock_granules_in_child();

}  // namespace deadheat::runtime
