// The page of polyte profile: the network in layers from its inputs down, and a table of its steps.
#include <algorithm>
#include <cstdio>
#include <map>

#include "driver/cli/reports.h"
#include "driver/cli/step_figures.h"
#include "driver/lab/escape.h"
#include "support/join_words.h"
#include "support/stable_sort.h"

namespace polyte::cli {
namespace {

constexpr int kBoxWidth = 236, kBoxHeight = 56, kGapX = 20, kGapY = 34, kMargin = 12;
constexpr std::size_t kMostLetters = 34;  // of a line in a box

constexpr const char* kStyle = R"(<style>
body { font: 15px/1.45 system-ui, sans-serif; margin: 2em auto; max-width: 78em; padding: 0 1em;
       color: #1b1f24; background: #fff; overflow-wrap: break-word; }
.wide { overflow-x: auto; }
.drawing { overflow: auto; border: 1px solid #d0d7de; max-height: 85vh; }
svg text { font: 12px system-ui, sans-serif; fill: #1b1f24; }
svg .name { font-weight: 600; }
svg path { fill: none; stroke: #8a929b; }
svg rect { stroke: #57606a; }
table { border-collapse: collapse; margin-top: 1.5em; }
td, th { padding: 2px 10px; text-align: right; border-bottom: 1px solid #e3e7eb;
         white-space: nowrap; }
td.text, th.text { text-align: left; white-space: normal; }
</style>
)";

std::string number(const char* format, double value) {
  char text[48];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

std::string microseconds(double ns) {
  return number(decimals_of(ns / 1e3) == 3 ? "%.3f" : "%.1f", ns / 1e3);
}

std::string shortened(const std::string& text) {
  if (text.size() <= kMostLetters) return text;
  std::size_t end = kMostLetters - 1;
  // No half letter.
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0U) == 0x80U) --end;
  return text.substr(0, end) + "\xe2\x80\xa6";
}

// White to orange; the lightest is still a box.
std::string colour(double share, double most) {
  const double part = most > 0 ? share / most : 0;
  return "hsl(22, 92%, " + number("%.0f", 98 - 40 * part) + "%)";
}

std::string roofline_text(const StepFigures& one) {
  return one.bound.empty() ? "" : number("%.2f", one.roofline) + " of " + one.bound;
}

struct Place {
  int layer = 0, column = 0;
};

class Drawing {
 public:
  Drawing(const NetworkFigures& figures, const runtime::Session& session)
      : figures_(figures), session_(session) {
    // The layer of a step is the length of the longest way to it, so that all edges go down. Steps
    // come in an order in which whatever makes a value is before what reads it.
    for (const StepFigures& one : figures.steps) {
      Place place;
      for (const std::size_t before : one.from)
        place.layer = std::max(place.layer, places_[before].layer + 1);
      place.column = width_of_[place.layer]++;
      places_.push_back(place);
      most_ = std::max(most_, one.share);
    }
    for (const auto& [layer, count] : width_of_) columns_ = std::max(columns_, count);
  }

  std::string svg() const {
    const int width = columns_ * (kBoxWidth + kGapX) + 2 * kMargin;
    const int height = static_cast<int>(width_of_.size()) * (kBoxHeight + kGapY) + 2 * kMargin;
    std::string text = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" +
                       std::to_string(width) + "\" height=\"" + std::to_string(height) +
                       "\" role=\"img\" aria-label=\"the network\">\n";
    for (std::size_t i = 0; i < places_.size(); ++i)
      for (const std::size_t before : figures_.steps[i].from) text += edge(before, i);
    for (std::size_t i = 0; i < places_.size(); ++i) text += box(i);
    return text + "</svg>\n";
  }

 private:
  const NetworkFigures& figures_;
  const runtime::Session& session_;
  std::vector<Place> places_;
  std::map<int, int> width_of_;
  int columns_ = 0;
  double most_ = 0;

  // Each layer is centred.
  int x(std::size_t i) const {
    const int of_layer = width_of_.at(places_[i].layer);
    return kMargin + (2 * places_[i].column + columns_ - of_layer) * (kBoxWidth + kGapX) / 2;
  }
  int y(std::size_t i) const { return kMargin + places_[i].layer * (kBoxHeight + kGapY); }

  // A cubic curve with its control points half way down: it leaves and arrives vertically.
  std::string edge(std::size_t from, std::size_t to) const {
    const std::string x0 = std::to_string(x(from) + kBoxWidth / 2),
                      x1 = std::to_string(x(to) + kBoxWidth / 2);
    const int y0 = y(from) + kBoxHeight, y1 = y(to);
    const std::string middle = std::to_string((y0 + y1) / 2);
    return "<path d=\"M" + x0 + " " + std::to_string(y0) + " C" + x0 + " " + middle + " " + x1 +
           " " + middle + " " + x1 + " " + std::to_string(y1) + "\"/>\n";
  }

  std::string line(std::size_t i, int down, const std::string& text, const char* kind) const {
    return "<text" + std::string(kind) + " x=\"" + std::to_string(x(i) + 8) + "\" y=\"" +
           std::to_string(y(i) + down) + "\">" + lab::escaped_xml(shortened(text)) + "</text>";
  }

  std::string box(std::size_t i) const {
    const StepFigures& one = figures_.steps[i];
    const runtime::StepSpec& step = session_.steps()[one.step];
    const std::string time =
        microseconds(one.time.median()) + " \xc2\xb5s, " + number("%.1f", 100 * one.share) + " %";
    return "<g><title>" +
           lab::escaped_xml(step.group + ": " + operators_of(step) + "\n" + time + "\n" +
                            roofline_text(one)) +
           "</title><rect x=\"" + std::to_string(x(i)) + "\" y=\"" + std::to_string(y(i)) +
           "\" width=\"" + std::to_string(kBoxWidth) + "\" height=\"" + std::to_string(kBoxHeight) +
           "\" rx=\"4\" fill=\"" + colour(one.share, most_) + "\"/>" +
           line(i, 17, step.group, " class=\"name\"") + line(i, 33, operators_of(step), "") +
           line(i, 49, time, "") + "</g>\n";
  }
};

std::string cell(const std::string& text, bool is_text = false) {
  return std::string(is_text ? "<td class=\"text\">" : "<td>") + lab::escaped_xml(text) + "</td>";
}

std::string table(const NetworkFigures& figures, const runtime::Session& session) {
  std::vector<StepFigures> rows = figures.steps;
  sort_stably(rows, std::ranges::greater(), &StepFigures::share);
  std::string text =
      "<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"the steps\">\n"
      "<table><tr><th>median, \xc2\xb5s</th><th>95 % interval</th><th>share</th><th>workers "
      "busy</th>"
      "<th>GF/s</th><th>GB/s</th><th>roofline</th><th class=\"text\">group</th><th "
      "class=\"text\">operators</th></tr>\n";
  for (const StepFigures& one : rows) {
    const runtime::StepSpec& step = session.steps()[one.step];
    const auto [low, high] = one.time.interval();
    // Operations per nanosecond are 10^9 per second.
    text += "<tr>" + cell(microseconds(one.time.median())) +
            cell(microseconds(low) + " to " + microseconds(high)) +
            cell(number("%.1f %%", 100 * one.share)) + cell(number("%.2f", one.busy)) +
            cell(one.flops > 0 ? number("%.1f", one.flops / one.time.median()) : "") +
            cell(number("%.1f", one.bytes / one.time.median())) + cell(roofline_text(one)) +
            cell(step.group, true) + cell(operators_of(step), true) + "</tr>\n";
  }
  return text + "</table>\n</div>\n";
}

std::string about(const NetworkFigures& figures) {
  const auto [low, high] = figures.whole.interval();
  std::string text = "<p>" + std::to_string(figures.runs) + " runs by " +
                     std::to_string(figures.threads) +
                     (figures.threads == 1 ? " thread" : " threads") + ": " +
                     microseconds(figures.whole.median()) +
                     " \xc2\xb5s in all steps (95 % interval of the median: " + microseconds(low) +
                     " to " + microseconds(high) + ").";
  if (figures.ceilings.bytes_a_second > 0)
    text += " Ceilings measured beside: " + number("%.1f", figures.ceilings.flops_a_second / 1e9) +
            " GF/s of multiply-adds, " + number("%.1f", figures.ceilings.bytes_a_second / 1e9) +
            " GB/s of main memory; above 1 of memory a step's operands came from caches.";
  return text +
         "</p>\n<p>A box is a step: operators that were fused. Its colour is its share "
         "of the time. Lines go from the step that makes a value to those that read it.</p>\n";
}

}  // namespace

std::string operators_of(const runtime::StepSpec& step) {
  if (!step.nodes.empty()) return join_words(step.nodes);
  return step.kernel.empty() ? "copy" : step.kernel;
}

// Places in the arena are used again and again, so that an address does not say who made a value;
// a buffer does, of which there is one per value.
std::vector<std::vector<std::size_t>> step_edges(const runtime::ArtifactManifest& manifest) {
  std::map<std::int64_t, std::size_t> maker;         // of a buffer: the first step that touches it
  std::map<std::string, std::size_t> maker_of_name;  // for views of it
  std::vector<std::vector<std::size_t>> edges(manifest.steps.size());
  for (std::size_t i = 0; i < manifest.steps.size(); ++i) {
    for (const std::int64_t number : manifest.steps[i].buffers) {
      const runtime::BufferSpec& buffer = manifest.buffers.at(static_cast<std::size_t>(number));
      if (buffer.place != runtime::BufferPlace::Arena &&
          buffer.place != runtime::BufferPlace::Output)
        continue;
      if (buffer.bytes == 0) continue;  // a constant that is only read packed
      const auto viewed = maker_of_name.find(buffer.shared_with);
      if (buffer.sharing == runtime::Sharing::View && viewed != maker_of_name.end())
        maker.emplace(number, viewed->second);
      const auto [at, is_first] = maker.emplace(number, i);
      if (is_first) maker_of_name.emplace(buffer.name, i);
      if (at->second != i) edges[i].push_back(at->second);
    }
    std::ranges::sort(edges[i]);
    edges[i].erase(std::ranges::unique(edges[i]).begin(), edges[i].end());
  }
  return edges;
}

std::string profile_page(const NetworkFigures& figures, const runtime::Session& session) {
  const std::string title = lab::escaped_xml(figures.source) + ": where the time goes";
  return "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
         "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>" +
         title + "</title>\n" + kStyle + "</head><body>\n<h1>" + title + "</h1>\n" +
         about(figures) + "<div class=\"drawing\">" + Drawing(figures, session).svg() + "</div>\n" +
         table(figures, session) + "</body></html>\n";
}

}  // namespace polyte::cli
