// Reports: the same samples give the same bytes in every format, lines fit, and names are text
// wherever they stand.
#include "driver/lab/report.h"

#include <doctest/doctest.h>

#include <sstream>

#include "driver/lab/artifact.h"
#include "driver/lab/escape.h"
#include "driver/lab/nest_diff.h"
#include "driver/lab/text_table.h"
#include "support/error.h"
#include "tests/lab/made_up.h"

namespace polyte::lab {
namespace {

constexpr const char* kEvil = "<script>alert(1)</script>\"'&|$_{}\\";

Results evil_results() {
  Plan plan = testing::made_up_plan({"poly", kEvil}, 2);
  plan.name = plan.experiment = kEvil;
  plan.rows[1].name = kEvil;
  plan.rows[0].sizes = {{"n", 1}};
  plan.rows[1].sizes = {{"n", 2}};
  std::string text =
      nlohmann::ordered_json{{"kind", "context"},
                             {"date", kEvil},
                             {"machine", {{"model", kEvil}, {"cpu", "x"}, {"processors", 2}}},
                             {"polyte", {{"version", kEvil}, {"digest", kEvil}}},
                             {"ceilings", {{"bytes_a_second_by_threads", {{"1", 1e10}}}}}}
          .dump() +
      "\n";
  for (int row = 0; row < 2; ++row)
    for (int p = 0; p < 3; ++p) {
      nlohmann::ordered_json arm = testing::head("arm", row, p, 0);
      arm["arm"] = kEvil;
      arm["status"] = "ok";
      for (const char* key : {"nest", "script", "proof", "outputs", "interpreter", "command"})
        arm[key] = kEvil;
      arm["storage"] = {kEvil};
      arm["compile_ms"] = {{kEvil, 1.5}};
      text += arm.dump() + "\n";
      text += testing::process_text(
          row, p, {{"poly", {100, 101, 102}}, {kEvil, {50, 51, 49}}, {kAgain, {100, 102, 101}}}, 0);
    }
  return evaluate(plan, parse_records(text, plan, "s"));
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++found;
  return found;
}

TEST_CASE("HTML: one script of ours, nothing of a name's, nothing from a network") {
  const std::string html = report_html(evil_results());
  CHECK(count(html, "<script>") == 1);
  CHECK(html.find("alert(1)</script>") == std::string::npos);
  CHECK(html.find("&lt;script&gt;alert(1)") != std::string::npos);
  for (const char* outside : {"http://", "https://", "src=", "@import", "url("})
    CHECK_MESSAGE(html.find(outside) == std::string::npos, outside);
  CHECK(html.find("default-src 'none'") != std::string::npos);
  CHECK(count(html, "<svg") == count(html, "</svg>"));
  CHECK(count(html, "<svg") >= 4);  // bars of two rows, the roofline, scaling over n
  CHECK(count(html, "<section>") == count(html, "</section>"));
  CHECK(html.find("nan") == std::string::npos);
}

// The row of f64 has half the peak: as many operations per second are twice the share.
TEST_CASE("HTML sorts a column of shares by the shares") {
  const Plan plan = testing::made_up_plan({"poly"}, 2);
  std::string text;
  for (int row = 0; row < 2; ++row)
    for (int p = 0; p < 3; ++p)
      text += testing::process_text(row, p, {{"poly", {100, 100, 100}}}, 0);
  Results results = evaluate(plan, parse_records(text, plan, "s"));
  results.rows[0].flops = results.rows[1].flops = 1000;
  results.rows[0].peak = 4e10;
  results.rows[1].peak = 2e10;
  const std::string html = report_html(results);
  CHECK(html.find("data-value=\"0.25\">0.250<") != std::string::npos);
  CHECK(html.find("data-value=\"0.5\">0.500<") != std::string::npos);
}

TEST_CASE("every format is the same for the same samples, and another is refused with the list") {
  for (const std::string& format : report_formats())
    CHECK_MESSAGE(report(evil_results(), format) == report(evil_results(), format), format);
  CHECK_THROWS_WITH_AS(report(evil_results(), "htm"),
                       "--format htm: expected one of text, markdown, csv, latex, json, benchmark, "
                       "html, did you mean "
                       "'html'?",
                       UserError);
}

TEST_CASE("CSV: what a row is of, and its sizes in columns of their own") {
  const Results results = evil_results();
  const std::string text = report_csv(results), head = text.substr(0, text.find("\r\n"));
  CHECK(head.find(",machine,program,dtype,threads,fill,caches,size_") != std::string::npos);
  const Row& row = results.plan.rows[0];
  REQUIRE(!row.sizes.empty());
  const std::string end = "," + std::to_string(row.threads) + "," + csv_field(row.fill) + "," +
                          to_string(row.caches) + "," + std::to_string(row.sizes.begin()->second);
  CHECK(text.find(end) != std::string::npos);
}

TEST_CASE("text fits 80 columns") {
  std::istringstream lines(report_text(evil_results()));
  for (std::string line; std::getline(lines, line);) CHECK_MESSAGE(line.size() <= 80, line);
}

TEST_CASE("JSON holds all samples, and Google Benchmark's layout a repetition per process") {
  const nlohmann::ordered_json json = report_json(evil_results());
  CHECK(json["format"] == "polyte-lab-results/1");
  CHECK(json["rows"][0]["arms"][1]["samples_ns"] ==
        std::vector<std::vector<double>>(3, {50, 51, 49}));
  CHECK(json["rows"][0]["arms"][1]["verdict"] == "faster");
  const nlohmann::ordered_json benchmark = report_benchmark(evil_results());
  CHECK(benchmark["benchmarks"].size() == 2 * 2 * 3);
  CHECK(benchmark["benchmarks"][3]["real_time"] == 50);
}

TEST_CASE(
    "LaTeX: environments and braces are closed, a figure's points have both ends of their "
    "intervals") {
  const std::string text = report_latex(evil_results());
  for (const char* name : {"tabular", "axis", "tikzpicture"})
    CHECK_MESSAGE(count(text, std::string("\\begin{") + name + "}") ==
                      count(text, std::string("\\end{") + name + "}"),
                  name);
  CHECK(count(text, "\\begin{tikzpicture}") == 2);
  CHECK(count(text, "\\ifdefined") == count(text, "\\fi\n"));
  CHECK(count(text, "+= (") == count(text, "-= ("));
  CHECK(count(text, "+= (") == 1 + 2);  // a mean, and two rows; of the baseline nothing
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool is_escaped = i > 0 && text[i - 1] == '\\';
    depth += text[i] == '{' && !is_escaped ? 1 : text[i] == '}' && !is_escaped ? -1 : 0;
    CHECK(depth >= 0);
  }
  CHECK(depth == 0);
}

TEST_CASE("the artifact appendix claims what was told and nothing else") {
  const std::string text = artifact_appendix(evil_results());
  CHECK(count(text, "is faster than") == 2);
  CHECK(text.find("<script>") == std::string::npos);
  const Plan plan = testing::made_up_plan({"poly", "mine"}, 1);
  const std::string nothing = artifact_appendix(evaluate(plan, parse_records("", plan, "s")));
  CHECK(nothing.find("None: no arm is distinguishable from the baseline.") != std::string::npos);
}

TEST_CASE("a run of which nothing is measured yet has a report in every format") {
  const Plan plan = testing::made_up_plan({"poly", "mine"}, 2);
  for (const std::string& format : report_formats())
    CHECK_FALSE(report(evaluate(plan, parse_records("", plan, "s")), format).empty());
}

TEST_CASE("escapes") {
  CHECK(escaped_xml("a<b>&\"'\x01\xff\xc3\xa9") ==
        "a&lt;b&gt;&amp;&quot;&#39;\xef\xbf\xbd\xef\xbf\xbd\xc3\xa9");
  // Half of a surrogate pair.
  CHECK(escaped_xml("\xed\xa0\x80") == "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
  CHECK(escaped_latex("a_b%{}\\") == "a\\_b\\%\\{\\}\\textbackslash{}");
  CHECK(escaped_markdown("a|b\nc<") == "a\\|b c&lt;");
  CHECK(csv_field("plain") == "plain");
  CHECK(csv_field("a,\"b\"") == "\"a,\"\"b\"\"\"");
  CHECK(csv_field("=1+1") == "\"'=1+1\"");
}

TEST_CASE("tables: long cells go on below, headings stand alone") {
  const std::string text =
      text_table({"", "x"}, {{"a heading"}, {"  arm", "1"}, {std::string(60, 'w'), "22 33"}}, 30);
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) CHECK(line.size() <= 30);
  CHECK(text.find("\na heading\n  arm") != std::string::npos);
  CHECK(time_text(581e3) == "581 us");
  CHECK(time_text(5.812e6) == "5.81 ms");
  CHECK(time_text(12.34) == "12.3 ns");
  CHECK(ratio_text(1.018) == "1.02x");
}

TEST_CASE("differences of nests and scripts") {
  const std::vector<DiffLine> lines = diff_lines("a\nb\nc\n", "a\nx\nc\nd\n");
  std::string text;
  for (const DiffLine& line : lines)
    text += (line.side == Side::Both ? " " : line.side == Side::First ? "-" : "+") + line.text;
  CHECK(text == " a-b+x c+d");
  CHECK(nest_parts("m > n > { a; b }") ==
        std::vector<std::string>{"m >", " n >", " {", " a;", " b }"});
  CHECK(common_parts({"a", "b", "c"}, {"a", "c"}) == std::vector<bool>{true, false, true});
}

}  // namespace
}  // namespace polyte::lab
