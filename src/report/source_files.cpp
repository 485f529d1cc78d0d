// SPDX-License-Identifier: Apache-2.0
#include "report/source_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <utility>

namespace deadheat {

namespace {

constexpr std::size_t kLongestFile = std::size_t{16} << 20;
constexpr std::size_t kLongestLine = 400;

std::string shortened(std::string_view line) {
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  if (line.size() <= kLongestLine) return std::string(line);
  std::size_t end = kLongestLine;
  while (end > 0 && (static_cast<unsigned char>(line[end]) & 0xC0U) == 0x80U) --end;  // not within a character
  return std::string(line.substr(0, end)) + "\u2026";
}

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(shortened(text.substr(0, end)));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

// Empty when there is nothing to read.
std::string content_of(int descriptor, std::size_t size) {
  std::string text(size, '\0');
  std::size_t done = 0;
  while (done < size) {
    const ssize_t count = ::read(descriptor, text.data() + done, size - done);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    done += static_cast<std::size_t>(count);
  }
  text.resize(done);
  return text;
}

std::vector<SourcePlace>& source_places() {
  static std::vector<SourcePlace> places;
  return places;
}

const SourcePlace* place_of(std::string_view path) {
  if (path.empty()) return nullptr;
  const SourcePlace* found = nullptr;
  for (const SourcePlace& place : source_places()) {
    // A name without a directory in front is below the one of the compilation. (libc's sources begin with "./".)
    if (place.from == "." && path.front() != '/' && path.front() != '.') found = &place;
    if (!path.starts_with(place.from)) continue;
    const bool is_whole =
        path.size() == place.from.size() || place.from.back() == '/' || path[place.from.size()] == '/';
    if (is_whole) found = &place;
  }
  return found;
}

}  // namespace

std::optional<SourcePlace> parse_source_place(std::string_view text) {
  const std::size_t sign = text.find('=');
  if (sign == std::string_view::npos || sign == 0 || sign + 1 == text.size()) return std::nullopt;
  return SourcePlace{std::string(text.substr(0, sign)), std::string(text.substr(sign + 1))};
}

void add_source_place(SourcePlace place) { source_places().push_back(std::move(place)); }

std::string where_source_is(const std::string& path) {
  const SourcePlace* const place = place_of(path);
  if (place == nullptr) return path;
  const bool is_below = path.starts_with(place->from);
  return std::filesystem::absolute(place->to + (is_below ? path.substr(place->from.size()) : "/" + path)).string();
}

const SourceFiles::File& SourceFiles::file(const std::string& path) {
  const auto [place, is_new] = files_.try_emplace(path);
  if (!is_new) return place->second;
  // Without O_NONBLOCK a pipe would wait for its writer.
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (descriptor < 0) return place->second;
  struct stat status{};
  if (fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0 &&
      static_cast<std::uint64_t>(status.st_size) <= kLongestFile) {
    place->second.lines = lines_of(content_of(descriptor, static_cast<std::size_t>(status.st_size)));
    place->second.changed = status.st_mtim.tv_sec;
  }
  ::close(descriptor);
  return place->second;
}

std::int64_t SourceFiles::change_time(const std::string& path) {
  const auto [place, is_new] = times_.try_emplace(path, 0);
  struct stat status{};
  if (is_new && stat(path.c_str(), &status) == 0) place->second = status.st_mtim.tv_sec;
  return place->second;
}

std::optional<Snippet> SourceFiles::around(const std::string& path, std::uint32_t line, std::uint32_t context,
                                           const std::string& module) {
  const std::string here = where_source_is(path);
  if (line == 0 || here.empty() || here.front() != '/') return std::nullopt;
  const File& source = file(here);
  if (line > source.lines.size()) return std::nullopt;
  Snippet snippet;
  snippet.file = path;
  snippet.line = line;
  snippet.first_line = line > context ? line - context : 1;
  const std::size_t end = std::min<std::size_t>(source.lines.size(), std::size_t{line} + context);
  snippet.lines.assign(source.lines.begin() + (snippet.first_line - 1),
                       source.lines.begin() + static_cast<std::ptrdiff_t>(end));
  if (!module.empty()) {
    const std::int64_t built = change_time(module);
    snippet.is_newer = built != 0 && source.changed > built;
  }
  return snippet;
}

bool is_system_source(std::string_view file) {
  if (place_of(file) != nullptr) return false;
  return file.starts_with("/usr/include/") || file.starts_with("/usr/lib/") || file.starts_with("/usr/src/") ||
         file.starts_with("./") || file.starts_with("../");
}

}  // namespace deadheat
