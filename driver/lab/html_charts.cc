#include "driver/lab/html_charts.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>

#include "driver/lab/escape.h"
#include "driver/lab/report.h"
#include "driver/lab/text_table.h"

namespace polyte::lab {
namespace {

constexpr double kWidth = 400, kLeft = 44, kRight = 12;

std::string at(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", value);
  return text;
}

// "0.2", "5", "1e+11".
std::string short_number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", value);
  return text;
}

// A logarithmic axis from the least to the greatest of what it is shown.
class LogAxis {
 public:
  LogAxis(double from, double to) : from_(from), to_(to) {}
  void include(double value) {
    if (!(value > 0) || !std::isfinite(value)) return;
    low_ = std::min(low_, std::log(value));
    high_ = std::max(high_, std::log(value));
  }
  // Even of one value the axis has a length, by which place() divides.
  void finish() {
    if (low_ > high_) low_ = high_ = 0;
    const double margin = std::max((high_ - low_) * 0.06, 0.01);
    low_ -= margin;
    high_ += margin;
  }
  // From [low, high] in logarithms to [from, to] in pixels; `to` may lie before `from`.
  double place(double value) const {
    return from_ + (std::log(value) - low_) / (high_ - low_) * (to_ - from_);
  }

  // 1, 2 and 5 times powers of ten, thinned to a few; of a narrow range steps of a hundredth or so.
  std::vector<double> ticks() const {
    std::vector<double> values;
    for (int power = static_cast<int>(std::floor(low_ / std::log(10.0)));
         power <= high_ / std::log(10.0); ++power)
      for (const double digit : {1.0, 2.0, 5.0}) add(digit * std::pow(10.0, power), values);
    // A narrow range: equal steps of 1 or 2 times a power of ten.
    if (values.size() < 3) {
      const double span = std::exp(high_) - std::exp(low_);
      const double step = std::pow(10.0, std::floor(std::log10(span / 2)));
      const double coarse = span / step > 5 ? step * 2 : step;
      values.clear();
      for (double v = std::ceil(std::exp(low_) / coarse) * coarse; v <= std::exp(high_);
           v += coarse)
        add(v, values);
    }
    std::vector<double> few;
    const std::size_t every = values.size() / 7 + 1;
    for (std::size_t i = 0; i < values.size(); i += every) few.push_back(values[i]);
    return few;
  }

 private:
  double from_, to_, low_ = 1e300, high_ = -1e300;
  void add(double value, std::vector<double>& values) const {
    if (std::log(value) >= low_ && std::log(value) <= high_) values.push_back(value);
  }
};

std::string line(double x1, double y1, double x2, double y2, const char* kind) {
  return "<line class=\"" + std::string(kind) + "\" x1=\"" + at(x1) + "\" y1=\"" + at(y1) +
         "\" x2=\"" + at(x2) + "\" y2=\"" + at(y2) + "\"/>";
}

std::string label(double x, double y, const std::string& text, const char* anchor = "start") {
  return "<text x=\"" + at(x) + "\" y=\"" + at(y) + "\" text-anchor=\"" + anchor + "\">" +
         escaped_xml(text) + "</text>";
}

std::string opened(double height, const std::string& title) {
  return "<svg viewBox=\"0 0 " + at(kWidth) + " " + at(height) + "\" role=\"img\"><title>" +
         escaped_xml(title) + "</title>";
}

std::string dot(double x, double y, const std::string& title) {
  return "<circle class=\"dot\" cx=\"" + at(x) + "\" cy=\"" + at(y) + "\" r=\"4\"><title>" +
         escaped_xml(title) + "</title></circle>";
}

// Numbers of arms beside their marks; of marks that nearly touch one label tells all, "1, 2".
class ArmNumbers {
 public:
  // 12 and 11 pixels are about the size of a number.
  void add(double x, double y, std::size_t arm) {
    for (Place& place : places_)
      if (std::abs(place.x - x) < 12 && std::abs(place.y - y) < 11) {
        place.text += ", " + std::to_string(arm + 1);
        return;
      }
    places_.push_back({x, y, std::to_string(arm + 1)});
  }
  // At the left of the marks.
  std::string text() const {
    std::string all;
    for (const Place& place : places_) all += label(place.x - 7, place.y + 4, place.text, "end");
    return all;
  }

 private:
  struct Place {
    double x, y;
    std::string text;
  };
  std::vector<Place> places_;
};

// Which arm a number is, a line each.
std::string legend(const Results& results, double y) {
  std::string text;
  for (std::size_t i = 0; i < results.arms.size(); ++i)
    text += label(kLeft, y + 15 * static_cast<double>(i),
                  std::to_string(i + 1) + "  " + results.arms[i].name);
  return text;
}

const char* class_of(const ArmResult& arm) {
  return arm.outcome == Outcome::Faster   ? "bar faster"
         : arm.outcome == Outcome::Slower ? "bar slower"
                                          : "bar";
}

// Both axes of a picture whose corner is at the left below.
// Screen coordinates: y grows downwards, and `bottom` is where the x axis is.
std::string axes(const LogAxis& x, const LogAxis& y, double bottom, const std::string& x_name,
                 const std::string& y_name) {
  std::string text =
      line(kLeft, bottom, kWidth - kRight, bottom, "axis") + line(kLeft, 20, kLeft, bottom, "axis");
  for (const double tick : x.ticks())
    text += line(x.place(tick), bottom, x.place(tick), bottom + 4, "axis") +
            label(x.place(tick), bottom + 16, short_number(tick), "middle");
  for (const double tick : y.ticks())
    text += line(kLeft - 4, y.place(tick), kLeft, y.place(tick), "axis") +
            label(kLeft - 6, y.place(tick) + 4, short_number(tick), "end");
  return text + label(kWidth - kRight, bottom + 32, x_name, "end") + label(2, 12, y_name);
}

}  // namespace

// Per arm 36 pixels: name and figures, below them the bar from 1, and its interval as a whisker.
std::string bars_svg(const Results& results, const RowResult& row) {
  std::vector<const ArmResult*> arms;
  LogAxis axis(kRight, kWidth - kRight);
  axis.include(1);
  for (const ArmResult& arm : row.arms) {
    if (!arm.ratio) continue;
    arms.push_back(&arm);
    axis.include(arm.ratio->low);
    axis.include(arm.ratio->high);
  }
  if (arms.empty()) return "";
  axis.finish();
  const double bottom = static_cast<double>(arms.size()) * 36 + 6;
  std::string text =
      opened(bottom + 36, "times of " + row.name + " over that of " + results.plan.baseline);
  for (const double tick : axis.ticks())
    text += line(axis.place(tick), 0, axis.place(tick), bottom, "axis") +
            label(axis.place(tick), bottom + 14, short_number(tick), "middle");
  for (std::size_t i = 0; i < arms.size(); ++i) {
    const Interval& ratio = *arms[i]->ratio;
    const double y = static_cast<double>(i) * 36 + 4, from = axis.place(1),
                 to = axis.place(ratio.estimate);
    text += label(kRight, y + 11,
                  arms[i]->name + "  " + ratio_text(ratio.estimate) + " " + interval_text(ratio));
    text += "<rect class=\"" + std::string(class_of(*arms[i])) + "\" x=\"" +
            at(std::min(from, to)) + "\" y=\"" + at(y + 16) + "\" width=\"" +
            at(std::max(std::abs(to - from), 1.0)) + "\" height=\"12\"/>";
    const double low = axis.place(ratio.low), high = axis.place(ratio.high);
    text += line(low, y + 22, high, y + 22, "whisker") + line(low, y + 18, low, y + 26, "whisker") +
            line(high, y + 18, high, y + 26, "whisker");
  }
  text += line(axis.place(1), 0, axis.place(1), bottom, "one");
  return text +
         label(kWidth / 2, bottom + 30,
               "time over that of " + results.plan.baseline + ": left is faster", "middle") +
         "</svg>";
}

// The roof is min(peak, bandwidth * intensity): a slope up to the ridge, where both are equal, then
// flat. Operations per nanosecond are 10^9 per second, hence the 1e-9 beside the ceilings
// and none beside the arms.
std::string roofline_svg(const Results& results) {
  LogAxis x(kLeft, kWidth - kRight), y(230, 20);
  double peak = 0, bandwidth = 0, least = 1e300, most = 0;
  for (const RowResult& row : results.rows) {
    if (row.ceiling() <= 0) continue;
    peak = std::max(peak, row.peak);
    bandwidth = std::max(bandwidth, row.bandwidth);
    least = std::min(least, row.flops / row.bytes);
    most = std::max(most, row.flops / row.bytes);
    for (const ArmResult& arm : row.arms)
      if (arm.is_timed()) y.include(row.flops / arm.time.estimate);
  }
  if (most <= 0) return "";
  const double ridge = peak / bandwidth;
  for (const double value : {least / 2, most * 2, ridge / 2, ridge * 2}) x.include(value);
  y.include(peak * 1e-9);
  y.include(bandwidth * std::min(least, ridge) * 1e-9);
  x.finish();
  y.finish();
  std::string text = opened(280 + 15 * static_cast<double>(results.arms.size()),
                            "roofline: measured ceilings and what each arm reaches");
  text += axes(x, y, 230, "operations a byte of the interface", "10^9 operations a second");
  const double left = std::min(least, ridge) / 1.5, right = std::max(most, ridge) * 1.5;
  text += "<path class=\"roof\" d=\"M" + at(x.place(left)) + " " +
          at(y.place(bandwidth * left * 1e-9)) + "L" + at(x.place(ridge)) + " " +
          at(y.place(peak * 1e-9)) + "L" + at(x.place(right)) + " " + at(y.place(peak * 1e-9)) +
          "\"/>";
  ArmNumbers numbers;
  for (const RowResult& row : results.rows)
    for (std::size_t i = 0; i < row.arms.size() && row.ceiling() > 0; ++i) {
      const ArmResult& arm = row.arms[i];
      if (!arm.is_timed()) continue;
      const double px = x.place(row.flops / row.bytes), py = y.place(row.flops / arm.time.estimate);
      text += dot(px, py,
                  row.name + ", " + arm.name + ": " + share_text(row, arm) + " of the FMA peak");
      numbers.add(px, py, i);
    }
  return text + numbers.text() + legend(results, 280) + "</svg>";
}

// A mark above the diagonal is slower than predicted.
std::string predicted_svg(const Results& results) {
  LogAxis x(kLeft, kWidth - kRight), y(300, 20);
  const auto is_shown = [](const ArmResult& arm) {
    return arm.is_timed() && arm.predicted && arm.predicted->nanoseconds > 0;
  };
  std::size_t shown = 0;
  for (const RowResult& row : results.rows)
    for (const ArmResult& arm : row.arms) {
      if (!is_shown(arm)) continue;
      ++shown;
      for (LogAxis* axis : {&x, &y}) {  // alike, so that the diagonal is where both are equal
        axis->include(arm.predicted->nanoseconds / 1e3);
        axis->include(arm.time.estimate / 1e3);
      }
    }
  if (shown == 0) return "";
  x.finish();
  y.finish();
  std::string text =
      opened(350 + 15 * static_cast<double>(results.arms.size()), "measured over predicted time") +
      axes(x, y, 300, "predicted, us", "measured, us");
  text += line(kLeft, 300, kWidth - kRight, 20, "one");
  ArmNumbers numbers;
  for (const RowResult& row : results.rows)
    for (std::size_t i = 0; i < row.arms.size(); ++i) {
      const ArmResult& arm = row.arms[i];
      if (!is_shown(arm)) continue;
      const double px = x.place(arm.predicted->nanoseconds / 1e3),
                   py = y.place(arm.time.estimate / 1e3);
      text +=
          dot(px, py,
              row.name + ", " + arm.name + ": predicted " + time_text(arm.predicted->nanoseconds) +
                  ", measured " + time_text(arm.time.estimate));
      numbers.add(px, py, i);
    }
  return text + numbers.text() + legend(results, 350) + "</svg>";
}

namespace {

// Rows that differ in one size, or in threads, only. A row is in one family per size: that of all
// rows with which it shares the others. At most 12 are drawn.
struct Family {
  std::string name, axis;
  std::map<double, const RowResult*> rows;
};

std::vector<Family> families(const Results& results) {
  std::map<std::string, Family> found;
  for (const RowResult& row : results.rows) {
    const Row& planned = results.plan.rows[row.row];
    Sizes all = planned.sizes;
    all["threads"] = planned.threads;
    const std::string rest =
        planned.fill + " " + to_string(planned.caches) + std::to_string(planned.program);
    for (const auto& [axis, value] : all) {
      std::string others;
      for (const auto& [name, size] : all)
        if (name != axis) others += " " + name + "=" + std::to_string(size);
      Family& family = found[rest + axis + "|" + others];
      family.axis = axis;
      family.name = results.plan.programs[planned.program].name + others;
      family.rows[static_cast<double>(value)] = &row;
    }
  }
  std::vector<Family> list;
  for (auto& [key, family] : found)
    if (family.rows.size() > 1 && list.size() < 12) list.push_back(std::move(family));
  return list;
}

std::string scaling_svg(const Results& results, const Family& family) {
  LogAxis x(kLeft, kWidth - kRight), y(200, 20);
  for (const auto& [value, row] : family.rows) {
    x.include(value);
    for (const ArmResult& arm : row->arms)
      if (arm.is_timed()) y.include(arm.time.low / 1e3), y.include(arm.time.high / 1e3);
  }
  x.finish();
  y.finish();
  const double height = 246 + 15 * static_cast<double>(results.arms.size());
  std::string text = opened(height, "time over " + family.axis + ": " + family.name) +
                     axes(x, y, 200, family.axis, "us");
  ArmNumbers numbers;
  for (std::size_t i = 0; i < results.arms.size(); ++i) {
    std::string path, dots;
    for (const auto& [value, row] : family.rows) {
      const ArmResult& arm = row->arms[i];
      if (!arm.is_timed()) continue;
      const double px = x.place(value), py = y.place(arm.time.estimate / 1e3);
      path += (path.empty() ? "M" : "L") + at(px) + " " + at(py);
      dots += line(px, y.place(arm.time.low / 1e3), px, y.place(arm.time.high / 1e3), "whisker") +
              dot(px, py, arm.name + ": " + time_text(arm.time.estimate));
      if (value == family.rows.rbegin()->first) numbers.add(px, py - 9, i);
    }
    if (!path.empty()) text += "<path class=\"line\" d=\"" + path + "\"/>" + dots;
  }
  return text + numbers.text() + legend(results, 246) + "</svg>";
}

}  // namespace

std::vector<std::string> scaling_svgs(const Results& results) {
  std::vector<std::string> pictures;
  for (const Family& family : families(results))
    pictures.push_back("<h3>" + escaped_xml(family.name + ", over " + family.axis) + "</h3>" +
                       scaling_svg(results, family));
  return pictures;
}

}  // namespace polyte::lab
