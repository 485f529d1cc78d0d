// SPDX-License-Identifier: Apache-2.0
// An option whose value is one of a few words, each standing for an enumerator.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "cli/choices.h"

namespace deadheat {

// The target keeps its value when the option is absent; it must outlive the
// parsing. An unknown word is a usage error that lists the known ones.
template <class Enum>
CLI::Option* add_choice(CLI::App& app, const std::string& name, Enum& target, const Choices<Enum>& choices,
                        const std::string& help) {
  std::vector<std::string> words;
  for (const auto& [word, value] : choices) words.push_back(word);
  return app
      .add_option_function<std::string>(
          name,
          [&target, choices](const std::string& chosen) {
            for (const auto& [word, value] : choices) {
              if (word == chosen) target = value;
            }
          },
          help)
      ->check(CLI::IsMember(words))
      ->option_text("WORD");
}

}  // namespace deadheat
