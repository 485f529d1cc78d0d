// SPDX-License-Identifier: Apache-2.0
#include "store/store_address.h"

#include <gtest/gtest.h>

namespace deadheat {
namespace {

TEST(StoreAddress, PathsAreShownAsTheyAre) {
  for (const char* const path : {".deadheat/races.db", "a@b:c.db", "/tmp/x=y.db", "notes/host=1"}) {
    EXPECT_FALSE(is_postgres_url(path)) << path;
    EXPECT_EQ(public_address(path), path);
    EXPECT_EQ(without_secrets("cannot open a@b:c.db", path), "cannot open a@b:c.db");
  }
}

TEST(StoreAddress, PasswordsAreNotShown) {
  const std::pair<const char*, const char*> cases[] = {
      {"postgresql://db.example/races", "postgresql://db.example/races"},
      {"postgresql://ci@db.example:5433/races", "postgresql://ci@db.example:5433/races"},
      {"postgresql://ci:pass@db.example/races", "postgresql://ci@db.example/races"},
      {"postgres://:pass@/races?host=/run", "postgres://@/races?host=/run"},
      {"postgresql://ci:p%40ss@[::1]:5432/races", "postgresql://ci@[::1]:5432/races"},
      {"postgresql://a:pass@one:1,two:2/races", "postgresql://a@one:1,two:2/races"},
      {"postgresql://h/races?user=ci&password=pass&sslmode=require", "postgresql://h/races?user=ci&sslmode=require"},
      {"postgresql://h/races?password=pass", "postgresql://h/races"},
      {"postgresql://h/races?p%61ssword=pass&user=x", "postgresql://h/races?user=x"},
      {"host=h password=pass dbname=races", "host=h dbname=races"},
      {"password = 'two words' host=h", "host=h"},
      {"host=h password='it\\'s' user='a b'", "host=h user='a b'"},
      {"password=pass", ""},
  };
  for (const auto& [place, shown] : cases) {
    EXPECT_TRUE(is_postgres_url(place)) << place;
    EXPECT_EQ(public_address(place), shown) << place;
    EXPECT_TRUE(check_address(place).ok()) << place;
  }
}

// Passwords that the server's library would read otherwise than they were meant, and tell everybody.
TEST(StoreAddress, PasswordsThatAreNotWrittenAsAnAddressWantsThemAreRefused) {
  for (const char* const place :
       {"postgresql://ci:pa@ss@db.example/races", "postgresql://ci:pa/ss@db.example/races",
        "postgresql://ci:pa?ss@db.example/races", "postgresql://h/races?password=a@b", "host=h password='open"}) {
    EXPECT_FALSE(check_address(place).ok()) << place;
    EXPECT_EQ(public_address(place), "postgresql://...") << place;
    EXPECT_EQ(check_address(place).error().message.find("ss"), check_address(place).error().message.find("ss of"));
  }
}

TEST(StoreAddress, MessagesLoseThePassword) {
  const std::string place = "postgresql://ci:p%40ss@db.example/races";
  EXPECT_EQ(without_secrets("bad \"p%40ss\" or \"p@ss\" in \"" + place + "\"", place),
            "bad \"***\" or \"***\" in \"postgresql://ci@db.example/races\"");
  EXPECT_EQ(without_secrets("no user ci", "postgresql://ci@db.example/races"), "no user ci");
  EXPECT_EQ(without_secrets("near 'it\\'s': it's", "host=h password='it\\'s'"), "near ***: ***");
}

}  // namespace
}  // namespace deadheat
