// SPDX-License-Identifier: Apache-2.0
#include "report/fingerprint.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "report/report_fixture.h"

namespace deadheat {
namespace {

using report_fixture::make_dictionary;
using report_fixture::make_finding;

TEST(FingerprintTest, IsSixteenHexadecimalDigitsThatNeverChange) {
  // Stored fingerprints outlive releases: this value must not change.
  EXPECT_EQ(fingerprint_of(make_finding(), make_dictionary()), "ba95e4f835dede57");
  EXPECT_EQ(old_fingerprint_of(make_finding(), make_dictionary()), "b4ae6e7dbe8b67ee");
}

TEST(FingerprintTest, DoesNotDependOnWhichSideCameFirst) {
  Finding swapped = make_finding();
  std::swap(swapped.earlier, swapped.later);
  EXPECT_EQ(fingerprint_of(swapped, make_dictionary()), fingerprint_of(make_finding(), make_dictionary()));
}

TEST(FingerprintTest, IgnoresWhatVariesBetweenRuns) {
  Finding other = make_finding();
  other.earlier.thread = ThreadId{7};
  other.earlier.clock = 1000;
  other.earlier.locks = {{SyncId{99}, LockMode::kShared}};
  other.event_index = 1;
  other.occurrences = 1;
  EXPECT_EQ(fingerprint_of(other, make_dictionary()), fingerprint_of(make_finding(), make_dictionary()));
}

TEST(FingerprintTest, IgnoresTheDirectoryOfTheCheckout) {
  Dictionary elsewhere = make_dictionary();
  Finding moved = make_finding();
  moved.earlier.site = elsewhere.sites.add({"transfer", "C/build/bank.cpp", 31, "", 0});
  EXPECT_EQ(fingerprint_of(moved, elsewhere), fingerprint_of(make_finding(), make_dictionary()));
}

TEST(FingerprintTest, TellsApartLinesFunctionsAndAccessKinds) {
  Dictionary dictionary = make_dictionary();
  const std::string original = fingerprint_of(make_finding(), dictionary);
  Finding other_line = make_finding();
  other_line.earlier.site = dictionary.sites.add({"transfer", "bank.cpp", 32, "", 0});
  EXPECT_NE(fingerprint_of(other_line, dictionary), original);
  Finding other_function = make_finding();
  other_function.earlier.site = dictionary.sites.add({"transfer_all", "bank.cpp", 31, "", 0});
  EXPECT_NE(fingerprint_of(other_function, dictionary), original);
  Finding other_kind = make_finding();
  other_kind.earlier.kind = AccessKind::kRead;
  EXPECT_NE(fingerprint_of(other_kind, dictionary), original);
}

TEST(FingerprintTest, EditAboveAFunctionDoesNotMatterWhereItsStartIsKnown) {
  Dictionary dictionary = make_dictionary();
  Finding before = make_finding();
  before.earlier.site = dictionary.sites.add({"transfer", "bank.cpp", 31, "", 0, 28});
  Finding moved = make_finding();
  moved.earlier.site = dictionary.sites.add({"transfer", "bank.cpp", 131, "", 0, 128});
  EXPECT_EQ(fingerprint_of(before, dictionary), fingerprint_of(moved, dictionary));
  Finding other_line = make_finding();
  other_line.earlier.site = dictionary.sites.add({"transfer", "bank.cpp", 32, "", 0, 28});
  EXPECT_NE(fingerprint_of(before, dictionary), fingerprint_of(other_line, dictionary));
  Finding absolute = make_finding();
  absolute.earlier.site = dictionary.sites.add({"transfer", "bank.cpp", 3, "", 0});
  EXPECT_NE(fingerprint_of(before, dictionary), fingerprint_of(absolute, dictionary));
}

TEST(FingerprintTest, SiteWithoutFunctionIsModuleAndOffset) {
  Dictionary dictionary = make_dictionary();
  Finding here = make_finding();
  here.earlier.site = SiteId{5};
  Finding same_module_elsewhere = here;
  same_module_elsewhere.earlier.site = dictionary.sites.add({"", "", 0, "/opt/libledger.so", 0x1f});
  EXPECT_EQ(fingerprint_of(here, dictionary), fingerprint_of(same_module_elsewhere, dictionary));
  Finding other_offset = here;
  other_offset.earlier.site = dictionary.sites.add({"", "", 0, "/usr/lib/libledger.so", 0x2f});
  EXPECT_NE(fingerprint_of(here, dictionary), fingerprint_of(other_offset, dictionary));
}

TEST(FingerprintTest, UnknownPlacesAreToldApartByVariable) {
  Dictionary dictionary = make_dictionary();
  dictionary.ranges[0x700000] = {8, "total"};
  Finding one = make_finding();
  one.earlier.site = one.later.site = SiteId::kUnknown;
  Finding other = one;
  other.address = 0x700000;
  EXPECT_NE(fingerprint_of(one, dictionary), fingerprint_of(other, dictionary));
}

// Two counters that race through one function, called by one function each.
class OneFunctionTest : public testing::Test {
 protected:
  OneFunctionTest() {
    for (const char* const name : {"bump", "count_hit", "count_error", "make_counters", "xmalloc"}) {
      sites.push_back(dictionary.sites.add({name, "count.cpp", 12, "/bin/count", 0, 10}));
    }
    dictionary.ranges[0x1000] = {4, "hits"};
    dictionary.ranges[0x1004] = {4, "errors"};
    dictionary.ranges[0x2000] = {16, "both"};
    dictionary.ranges[0x3000] = {4000, "table"};
  }
  [[nodiscard]] Finding race(Address address, std::size_t caller = 1) const {
    Finding finding;
    finding.earlier = {ThreadId{1}, 9, AccessKind::kWrite, 4, sites[0], {sites[caller]}, {}};
    finding.later = {ThreadId{2}, 4, AccessKind::kWrite, 4, sites[0], {sites[caller]}, {}};
    finding.address = address;
    finding.size = 4;
    return finding;
  }
  [[nodiscard]] std::string name(const Finding& finding) const { return fingerprint_of(finding, dictionary); }

  Dictionary dictionary;
  std::vector<SiteId> sites;
};

TEST_F(OneFunctionTest, GlobalsAreTwoRacesWhoeverCalls) {
  EXPECT_NE(name(race(0x1000)), name(race(0x1004)));
  EXPECT_EQ(name(race(0x1000, 1)), name(race(0x1000, 2)));
  EXPECT_TRUE(have_same_places(name(race(0x1000)), name(race(0x1004))));
  EXPECT_EQ(old_fingerprint_of(race(0x1000), dictionary), old_fingerprint_of(race(0x1004), dictionary));
}

TEST_F(OneFunctionTest, MembersAreTwoRacesAndElementsOfATableAreOne) {
  EXPECT_NE(name(race(0x2000)), name(race(0x2004)));
  EXPECT_EQ(name(race(0x3000)), name(race(0x3004)));
}

TEST_F(OneFunctionTest, UnnamedMemoryIsToldApartByTheFirstCaller) {
  EXPECT_NE(name(race(0x7000, 1)), name(race(0x7000, 2)));
  EXPECT_EQ(name(race(0x7000, 1)), name(race(0x8000, 1)));
}

TEST_F(OneFunctionTest, BlocksAreNamedByTheFunctionThatWantedThem) {
  Finding one = race(0x7000);
  one.block = {0x7000, 4, {sites[3]}};
  Finding elsewhere = race(0x9000, 2);
  elsewhere.block = {0x9000, 4, {sites[3]}};
  EXPECT_EQ(name(one), name(elsewhere));
  elsewhere.block.allocated = {sites[4], sites[3]};
  EXPECT_EQ(name(one), name(elsewhere)) << "xmalloc allocates for its caller";
  elsewhere.block.allocated = {sites[2]};
  EXPECT_NE(name(one), name(elsewhere));
}

TEST_F(OneFunctionTest, WithoutLinesTheFrontIsTheSame) {
  const std::string with_lines = name(race(0x1000));
  Dictionary bare = dictionary;
  Finding finding = race(0x1000);
  finding.earlier.site = finding.later.site = bare.sites.add({"bump", "", 0, "/bin/count", 0});
  finding.earlier.stack = finding.later.stack = {};
  const std::string without = fingerprint_of(finding, bare);
  EXPECT_EQ(without, with_lines.substr(0, 12) + "0000");
  KnownFingerprints known;
  known.add(without);
  EXPECT_TRUE(known.contains(with_lines));
  EXPECT_FALSE(known.contains(name(race(0x1004))));
  KnownFingerprints exact;
  exact.add(with_lines);
  EXPECT_TRUE(exact.contains(without));
  EXPECT_TRUE(exact.contains(with_lines));
}

TEST_F(OneFunctionTest, CodeOfTheLibrariesStandsForItsCaller) {
  Finding finding = race(0x1000);
  const SiteId vector =
      dictionary.sites.add({"std::vector<int>::push_back(int&&)", "/usr/include/c++/12/x.h", 9, "", 0});
  for (RacingAccess* side : {&finding.earlier, &finding.later}) {
    side->stack.push_back(side->site);
    side->site = vector;
  }
  EXPECT_EQ(name(finding), name(race(0x1000)));
}

}  // namespace
}  // namespace deadheat
