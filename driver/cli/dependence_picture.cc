#include "driver/cli/dependence_picture.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <map>
#include <optional>
#include <set>

#include "support/error.h"
#include "support/join_words.h"
#include "support/stable_sort.h"

namespace polyte::cli {
namespace {

constexpr std::size_t kMostPoints = 400;
constexpr double kCell = 62, kRadius = 12, kMargin = 84, kHead = 8;

struct Xy {
  double x = 0, y = 0;
};
Xy operator+(const Xy& a, const Xy& b) { return {a.x + b.x, a.y + b.y}; }
Xy operator-(const Xy& a, const Xy& b) { return {a.x - b.x, a.y - b.y}; }
Xy operator*(const Xy& a, double factor) { return {a.x * factor, a.y * factor}; }
double length(const Xy& a) { return std::hypot(a.x, a.y); }

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", value);
  return text;
}

std::string to_text(const Xy& a) { return number(a.x) + " " + number(a.y); }

std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text)
    result += c == '<' ? "&lt;" : c == '>' ? "&gt;" : c == '&' ? "&amp;" : std::string(1, c);
  return result;
}

struct Kind {
  const char *name, *colour, *words;
};
constexpr std::array kKinds = {
    Kind{"flow", "#1f5fbf", "flow: what was written is read"},
    Kind{"anti", "#c2571a", "anti: what was read is overwritten"},
    Kind{"output", "#6b7280", "output: what was written is overwritten"}};
constexpr std::array kTileColours = {"#dbeafe", "#dcfce7", "#fef3c7", "#fce7f3",
                                     "#ede9fe", "#ccfbf1", "#fee2e2", "#e5e7eb"};

class Drawing {
 public:
  Drawing(const schedule::State& state, const PictureOptions& options)
      : program_(*state.reference), options_(options) {
    choose_statements();
    choose_axes();
    points_ = schedule::points_of(state, statements_, kMostPoints);
    keep_one_slice();
    place_points();
  }

  // SVG paints in the order of the text: planes below, then arrows with flow on top of the others,
  // then points.
  std::string svg() {
    draw_planes();
    draw_axes();
    if (options_.with_order) draw_order();
    for (std::size_t k = kKinds.size(); k-- > 0;)
      for (const schedule::InstanceArrow& arrow : points_.arrows)
        if (arrow.kind == kKinds[k].name) draw_arrow(arrow, kKinds[k]);
    for (std::size_t i = 0; i < points_.points.size(); ++i)
      if (is_drawn_[i]) draw_point(i);
    return header() + body_ + "</svg>\n";
  }

 private:
  const ir::Program& program_;
  const PictureOptions& options_;
  std::vector<std::string> statements_, axes_;
  schedule::InstancePoints points_;
  std::vector<bool> is_drawn_;
  std::map<std::string, std::int64_t> fixed_;  // loops that are no axis, at the value that is drawn
  std::vector<Xy> at_;                         // by point
  std::vector<std::int64_t> least_, most_;     // by axis
  std::string body_;

  [[noreturn]] static void refuse(const std::string& what) {
    throw UserError(ExitStatus::Usage, what);
  }

  // --- what is drawn

  // Without --statement the one or two with most loops, in the order of the Program.
  void choose_statements() {
    std::vector<std::string> names;
    for (const ir::Statement& s : program_.statements) names.push_back(s.name);
    for (const std::string& name : options_.statements)
      if (std::ranges::find(names, name) == names.end())
        refuse("--statement " + name + ": the program has " + join_words(names, ", "));
    statements_ = options_.statements;
    if (statements_.size() > 2)
      refuse("--format svg draws one or two statements, give --statement once or twice");
    if (!statements_.empty()) return;
    if (names.empty()) refuse("program '" + program_.name + "' has no statement to draw");
    sort_stably(names, std::ranges::greater{},
                [&](const std::string& name) { return program_.statement(name).iterators.size(); });
    names.resize(std::min<std::size_t>(names.size(), 2));
    for (const ir::Statement& s : program_.statements)
      if (std::ranges::find(names, s.name) != names.end()) statements_.push_back(s.name);
  }

  void choose_axes() {
    std::vector<std::string> loops;  // of the statement with most
    for (const std::string& name : statements_)
      if (program_.statement(name).iterators.size() > loops.size())
        loops = program_.statement(name).iterators;
    axes_ = options_.axes;
    for (const std::string& axis : axes_)
      if (std::ranges::find(loops, axis) == loops.end())
        refuse("--axes " + axis + ": the loops are " + join_words(loops, ", "));
    if (!axes_.empty() &&
        (axes_.size() > 3 || std::set(axes_.begin(), axes_.end()).size() != axes_.size()))
      refuse("--axes takes one to three loops, each once");
    if (axes_.empty())
      axes_.assign(loops.begin(), loops.begin() + std::min<std::ptrdiff_t>(3, std::ssize(loops)));
  }

  // Its value of a loop by name, where the statement has it.
  std::optional<std::int64_t> value_of(const schedule::InstancePoint& point,
                                       const std::string& loop) const {
    const std::vector<std::string>& iterators = program_.statement(point.statement).iterators;
    const auto at = std::ranges::find(iterators, loop);
    if (at == iterators.end()) return std::nullopt;
    return point.iterators[static_cast<std::size_t>(at - iterators.begin())];
  }

  // Loops that are no axis are drawn at their first value; a picture shows one slice.
  void keep_one_slice() {
    for (const std::string& name : statements_)
      for (const std::string& loop : program_.statement(name).iterators) {
        if (std::ranges::find(axes_, loop) != axes_.end()) continue;
        for (const schedule::InstancePoint& point : points_.points)
          if (const auto value = value_of(point, loop)) {
            const auto [known, is_new] = fixed_.try_emplace(loop, *value);
            if (!is_new) known->second = std::min(known->second, *value);
          }
      }
    for (const schedule::InstancePoint& point : points_.points)
      is_drawn_.push_back(std::ranges::all_of(fixed_, [&](const auto& entry) {
        return value_of(point, entry.first).value_or(entry.second) == entry.second;
      }));
    if (std::ranges::none_of(is_drawn_, [](bool drawn) { return drawn; }))
      refuse("no instance at these sizes: give larger ones, --shape");
  }

  // --- where it lies

  void place_points() {
    least_.assign(axes_.size(), 0);
    most_.assign(axes_.size(), 0);
    for (std::size_t a = 0; a < axes_.size(); ++a) {
      bool is_first = true;
      for (std::size_t i = 0; i < points_.points.size(); ++i) {
        const auto value = is_drawn_[i] ? value_of(points_.points[i], axes_[a]) : std::nullopt;
        if (!value) continue;
        least_[a] = is_first ? *value : std::min(least_[a], *value);
        most_[a] = is_first ? *value : std::max(most_[a], *value);
        is_first = false;
      }
    }
    for (const schedule::InstancePoint& point : points_.points) {
      std::vector<double> values;
      for (std::size_t a = 0; a < axes_.size(); ++a)
        values.push_back(
            static_cast<double>(value_of(point, axes_[a]).value_or(least_[a]) - least_[a]));
      at_.push_back(position(values) + offset_of(point.statement));
    }
  }

  bool is_second(const std::string& statement) const {
    return statements_.size() > 1 && statement == statements_[1];
  }

  double extent(std::size_t axis) const { return static_cast<double>(most_[axis] - least_[axis]); }

  // Height of one plane of a picture in three dimensions, with room to the next.
  double plane() const {
    return 0.55 * kCell * extent(1) + (statements_.size() > 1 ? 3.4 : 2.0) * kCell;
  }

  // The first axis downwards, the last to the right; of three the middle one to the front:
  //
  //        n                   k
  //      +--->               +--->
  //    m |                 m | \ n     a plane per m
  //      v                   v
  Xy position(const std::vector<double>& values) const {
    const double step = statements_.size() > 1 && axes_.size() < 3 ? 1.5 * kCell : kCell;
    if (values.empty()) return {kMargin, kMargin};
    if (values.size() == 1) return {kMargin + step * values[0], kMargin};
    if (values.size() == 2) return {kMargin + step * values[1], kMargin + step * values[0]};
    return {kMargin + 1.25 * kCell * values[2] + 0.62 * kCell * values[1],
            kMargin + plane() * values[0] + 0.55 * kCell * values[1]};
  }

  // Points of the second statement lie between those of the first, or on planes of their own.
  Xy offset_of(const std::string& statement) const {
    if (!is_second(statement)) return {};
    if (axes_.size() < 3) return {0.55 * kCell, 0.55 * kCell};
    return {0.2 * kCell, 0.5 * plane()};
  }

  // --- how it looks

  void text(const Xy& at, const std::string& words, const std::string& style) {
    body_ += "<text x=\"" + number(at.x) + "\" y=\"" + number(at.y) + "\" " + style + ">" +
             escaped(words) + "</text>\n";
  }

  void line(const Xy& from, const Xy& to, const std::string& style) {
    body_ += "<line x1=\"" + number(from.x) + "\" y1=\"" + number(from.y) + "\" x2=\"" +
             number(to.x) + "\" y2=\"" + number(to.y) + "\" " + style + "/>\n";
  }

  // Where the ticks of an axis stand, seen from its points.
  Xy ticks_of(std::size_t axis) const {
    if (axis == 0 && axes_.size() > 1) return {axes_.size() == 3 ? -62.0 : -36.0, 4};
    if (axis == 1 && axes_.size() == 3) return {-38, 8};
    return {0, -26};
  }

  void draw_axes() {
    const std::vector<double> origin(axes_.size(), 0);
    for (std::size_t a = 0; a < axes_.size(); ++a) {
      std::vector<double> end = origin;
      for (std::int64_t v = least_[a]; v <= most_[a]; ++v) {
        end[a] = static_cast<double>(v - least_[a]);
        text(position(end) + ticks_of(a), std::to_string(v), "class=\"tick\"");
      }
      const bool is_down = a == 0 && axes_.size() > 1;
      const Xy further = is_down                       ? Xy{-4, 28}
                         : axes_.size() == 3 && a == 1 ? Xy{-2, 24}
                                                       : Xy{28, 2};
      text(position(end) + ticks_of(a) + further, axes_[a], "class=\"axis\"");
    }
  }

  // Of three dimensions each iteration of the outermost, for each statement.
  void draw_planes() {
    if (axes_.size() < 3) return;
    const double right = extent(2) + 0.4, front = extent(1) + 0.5;
    for (const std::string& statement : statements_)
      for (double v = 0; v <= extent(0); ++v) {
        std::string path;
        for (const auto& [y, x] :
             {std::pair{-0.5, -0.4}, {-0.5, right}, {front, right}, {front, -0.4}})
          path += (path.empty() ? "M" : " L") + to_text(position({v, y, x}) + offset_of(statement));
        body_ += "<path d=\"" + path + " z\" class=\"plane\"/>\n";
      }
  }

  void draw_order() {
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < points_.points.size(); ++i)
      if (is_drawn_[i] && points_.points[i].place >= 0) order.push_back(i);
    std::ranges::sort(order, {}, [&](std::size_t i) { return points_.points[i].place; });
    std::string path;
    for (const std::size_t i : order) path += (path.empty() ? "M" : " L") + to_text(at_[i]);
    if (!path.empty()) body_ += "<path d=\"" + path + "\" class=\"order\"/>\n";
  }

  // A triangle whose tip is the end of the arrow.
  void head(const Xy& tip, const Xy& from, const std::string& colour) {
    const Xy along = (tip - from) * (1 / length(tip - from)), across{-along.y, along.x};
    const Xy base = tip - along * kHead;
    const Xy left = base + across * (0.42 * kHead), right = base - across * (0.42 * kHead);
    body_ += "<path d=\"M" + to_text(tip) + " L" + to_text(left) + " L" + to_text(right) +
             " z\" fill=\"" + colour + "\"/>\n";
  }

  // Bent where it is long, so that it passes the points between: a quadratic curve whose control
  // point lies beside the middle. It ends at the rims of both points.
  void draw_arrow(const schedule::InstanceArrow& arrow, const Kind& kind) {
    if (!is_drawn_[arrow.from] || !is_drawn_[arrow.to]) return;
    const Xy from = at_[arrow.from], to = at_[arrow.to], way = to - from;
    const double far = length(way);
    if (far < 1) return;
    const Xy across{-way.y / far, way.x / far};
    const double bend = axes_.size() == 3 ? 0.05 : far > 1.3 * kCell ? 0.13 : 0.04;
    const Xy middle = (from + to) * 0.5 + across * (bend * far);
    const auto towards_middle = [&](const Xy& end, double by) {
      const Xy back = middle - end;
      return end + back * (by / length(back));
    };
    const Xy tip = towards_middle(to, kRadius + 2);
    body_ += "<path d=\"M" + to_text(towards_middle(from, kRadius + 2)) + " Q" + to_text(middle) +
             " " + to_text(towards_middle(to, kRadius + 1 + kHead)) +
             "\" class=\"arrow\" stroke=\"" + kind.colour + "\"" +
             (arrow.reduction ? " stroke-dasharray=\"4 3\"" : "") + "/>\n";
    head(tip, middle, kind.colour);
  }

  void draw_point(std::size_t i) {
    const schedule::InstancePoint& point = points_.points[i];
    const std::string fill =
        !options_.with_order || point.place < 0
            ? "#ffffff"
            : kTileColours[static_cast<std::size_t>(point.group) % kTileColours.size()];
    const std::string title = "<title>" + escaped(point.statement) + title_of(point) + "</title>";
    const Xy at = at_[i];
    if (is_second(point.statement))
      body_ += "<rect x=\"" + number(at.x - kRadius + 1) + "\" y=\"" + number(at.y - kRadius + 1) +
               "\" width=\"" + number(2 * kRadius - 2) + "\" height=\"" + number(2 * kRadius - 2) +
               "\" rx=\"3\" class=\"point\" fill=\"" + fill + "\">" + title + "</rect>\n";
    else
      body_ += "<circle cx=\"" + number(at.x) + "\" cy=\"" + number(at.y) + "\" r=\"" +
               number(kRadius) + "\" class=\"point\" fill=\"" + fill + "\">" + title +
               "</circle>\n";
    if (options_.with_order && point.place >= 0)
      text(at + Xy{0, 3.6}, std::to_string(point.place), "class=\"place\"");
  }

  std::string title_of(const schedule::InstancePoint& point) const {
    const std::vector<std::string>& iterators = program_.statement(point.statement).iterators;
    std::string words;
    for (std::size_t d = 0; d < iterators.size(); ++d)
      words += (d > 0 ? ", " : "(") + iterators[d] + "=" + std::to_string(point.iterators[d]);
    return iterators.empty() ? "()" : words + ")";
  }

  // --- the frame: title, legend, size

  std::string title() const {
    std::string words = program_.name;
    for (const auto& [name, value] : program_.sizes)
      words += ", " + name + " = " + std::to_string(value);
    for (const auto& [loop, value] : fixed_)
      words += ", at " + loop + " = " + std::to_string(value);
    return words;
  }

  template <class Is>
  bool has_arrow(const Is& is) const {
    return std::ranges::any_of(points_.arrows, [&](const schedule::InstanceArrow& arrow) {
      return is_drawn_[arrow.from] && is_drawn_[arrow.to] && is(arrow);
    });
  }

  // Returns where it ends.
  double draw_legend(Xy at) {
    for (std::size_t s = 0; s < statements_.size(); ++s, at.y += 20) {
      const std::string style = "class=\"point\" fill=\"#ffffff\"";
      if (s == 0)
        body_ += "<circle cx=\"" + number(at.x + 10) + "\" cy=\"" + number(at.y) + "\" r=\"7\" " +
                 style + "/>\n";
      else
        body_ += "<rect x=\"" + number(at.x + 4) + "\" y=\"" + number(at.y - 6) +
                 "\" width=\"12\" height=\"12\" rx=\"2\" " + style + "/>\n";
      text(at + Xy{30, 4}, statements_[s], "class=\"legend\"");
    }
    for (const Kind& kind : kKinds) {
      if (!has_arrow([&](const schedule::InstanceArrow& arrow) { return arrow.kind == kind.name; }))
        continue;
      line(at, at + Xy{14, 0}, std::string("class=\"arrow\" stroke=\"") + kind.colour + "\"");
      head(at + Xy{21, 0}, at, kind.colour);
      text(at + Xy{30, 4}, kind.words, "class=\"legend\"");
      at.y += 20;
    }
    if (has_arrow([](const schedule::InstanceArrow& arrow) { return arrow.reduction; })) {
      line(at, at + Xy{20, 0}, "class=\"arrow\" stroke=\"#1f5fbf\" stroke-dasharray=\"4 3\"");
      text(at + Xy{30, 4}, "terms of one sum", "class=\"legend\"");
      at.y += 20;
    }
    if (!options_.with_order) return at.y;
    line(at, at + Xy{20, 0}, "class=\"order\"");
    text(at + Xy{30, 4},
         "order of " + options_.title +
             "; a colour is a tile, or an iteration of the outermost loop",
         "class=\"legend\"");
    return at.y + 20;
  }

  // Called last: only then it is known how far the points reach, below which the legend begins.
  std::string header() {
    Xy far{0, 0};
    for (std::size_t i = 0; i < at_.size(); ++i)
      if (is_drawn_[i]) far = {std::max(far.x, at_[i].x), std::max(far.y, at_[i].y)};
    const std::string drawn = std::move(body_);
    body_.clear();
    text({kMargin - 34, 26}, title(), "class=\"title\"");
    const double height = draw_legend({kMargin - 34, far.y + 64}) + 6;
    body_ += drawn;
    const double width = std::max(far.x + kMargin, 460.0);
    return "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + number(width) + "\" height=\"" +
           number(height) + "\" viewBox=\"0 0 " + number(width) + " " + number(height) +
           "\">\n<style>\ntext { font-family: Helvetica, Arial, sans-serif; fill: #111827 }\n"
           ".title { font-size: 15px; font-weight: bold } .legend { font-size: 12px } "
           ".axis { font-size: 15px; font-style: italic }\n.tick { font-size: 11px; "
           "fill: #6b7280; text-anchor: middle } .place { font-size: 10px; text-anchor: middle }\n"
           ".point { stroke: #374151; stroke-width: 1.2 } .arrow { fill: none; "
           "stroke-width: 1.3; stroke-opacity: 0.8 }\n.plane { fill: #f9fafb; stroke: #e5e7eb }\n"
           ".order { fill: none; stroke: #dc2626; stroke-width: 1; stroke-opacity: 0.45 }\n"
           "</style>\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n";
  }
};

}  // namespace

std::string dependence_picture(const schedule::State& state, const PictureOptions& options) {
  return Drawing(state, options).svg();
}

}  // namespace polyte::cli
