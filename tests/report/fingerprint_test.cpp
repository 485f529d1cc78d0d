// SPDX-License-Identifier: Apache-2.0
#include "report/fingerprint.h"

#include <gtest/gtest.h>

#include <utility>

#include "report/report_fixture.h"

namespace deadheat {
namespace {

using report_fixture::make_dictionary;
using report_fixture::make_finding;

TEST(FingerprintTest, IsSixteenHexadecimalDigitsThatNeverChange) {
  // Stored fingerprints outlive releases: this value must not change.
  EXPECT_EQ(fingerprint_of(make_finding(), make_dictionary()), "b4ae6e7dbe8b67ee");
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
  other.later.stack.clear();
  other.address += 0x10000;
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

}  // namespace
}  // namespace deadheat
