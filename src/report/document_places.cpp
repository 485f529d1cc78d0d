// SPDX-License-Identifier: Apache-2.0
#include "report/document_places.h"

#include <fmt/format.h>

#include <filesystem>

#include "report/describe.h"
#include "report/json_text.h"

namespace deadheat {

nlohmann::ordered_json document_of(const RaceReport::Entry& entry) {
  auto parsed = parse_json(entry.race.document);
  return parsed.is_object() ? parsed : nlohmann::ordered_json::object();
}

std::string relative_file(const std::string& file, const std::string& root) {
  const std::string normal = std::filesystem::path(file).lexically_normal().string();
  const std::string front = root.ends_with('/') ? root : root + "/";
  if (root.empty() || !normal.starts_with(front)) return normal;
  return normal.substr(front.size());
}

const nlohmann::ordered_json* shown_frame(const nlohmann::ordered_json& side, const std::string& root) {
  const nlohmann::ordered_json* any = nullptr;
  if (!side.is_object() || !side.contains("stack")) return nullptr;
  for (const auto& frame : side["stack"]) {
    const std::string file = text_member(frame, "file");
    if (file.empty()) continue;
    if (any == nullptr) any = &frame;
    if (!relative_file(file, root).starts_with('/')) return &frame;
  }
  return any;
}

std::string headline_of(const Sighting& race) {
  return race.variable.empty() ? race.title : fmt::format("{} on {}", race.title, race.variable);
}

std::string side_words(const nlohmann::ordered_json& side) {
  std::string words = text_member(side, "access");
  if (words == "atomic-read") words = "atomic read";
  if (words == "atomic-write") words = "atomic write";
  if (side.contains("size") && side["size"].is_number_unsigned()) {
    words += " of " + counted(side["size"].get<std::uint64_t>(), "byte");
  }
  if (side.contains("thread") && side["thread"].is_object()) {
    const auto& thread = side["thread"];
    words += fmt::format(" by thread {}", thread.value("id", 0));
    if (const std::string name = text_member(thread, "name"); !name.empty())
      words += fmt::format(" ({})", printable(name));
  }
  if (side.contains("stack") && !side["stack"].empty()) {
    const std::string function = text_member(side["stack"][0], "function");
    if (!function.empty()) words += " in " + printable(function);
  }
  return words;
}

std::string frame_words(const nlohmann::ordered_json& frame, const std::string& root) {
  std::string words = text_member(frame, "function");
  if (words.empty()) {
    words = fmt::format("{}+{}", base_name(text_member(frame, "module")), text_member(frame, "offset"));
  }
  const std::string file = text_member(frame, "file");
  if (file.empty()) return words;
  words += " " + relative_file(file, root);
  if (frame.contains("line") && frame["line"].is_number())
    words += fmt::format(":{}", frame["line"].get<std::uint64_t>());
  return words;
}

}  // namespace deadheat
