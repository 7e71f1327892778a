// polyte help, polyte completion, and what a shell asks at TAB.
#include "driver/cli/completion.h"

#include <algorithm>
#include <iostream>
#include <sstream>

#include "driver/cli/cli.h"
#include "driver/lab/suite.h"
#include "support/gpu_machines.h"

namespace polyte::cli {
namespace {

using Switch = Verb::Switch;

std::vector<std::string> split_words(const std::string& text, char at) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, at);) parts.push_back(part);
  return parts;
}

bool has_name(const Switch& one, const std::string& name) {
  return std::ranges::any_of(split_words(one.names, ','),
                             [&](const std::string& own) { return own == name; });
}

bool is_option(const std::string& word) { return word.size() > 1 && word[0] == '-'; }

// Targets: every processor that the compiler knows, once it is clear which kind is meant.
std::vector<std::string> targets(const std::string& begun) {
  std::vector<std::string> names = {"cpu:native"};
  if (begun.starts_with("cpu:"))
    for (const std::string& cpu : codegen::known_cpus()) names.push_back("cpu:" + cpu);
  if (begun.starts_with("aarch64:"))
    for (const std::string& cpu : codegen::known_cpus(TargetKind::AArch64))
      names.push_back("aarch64:" + cpu);
  for (const std::string& gpu : gpu_names()) names.push_back("cuda:" + gpu);
  names.emplace_back("cuda:native");
  if (begun.find(':') == std::string::npos) names.insert(names.end(), {"cpu:", "aarch64:"});
  return names;
}

// What the value of an option may be besides what its table says: by its name, which has one
// meaning in all verbs.
enum class ValueIs { Words, Files, Folders, Nothing };
struct ValueKind {
  const char* name;
  ValueIs kind;
};
constexpr ValueKind kValueKinds[] = {
    {"--emit-dir", ValueIs::Folders}, {"--dump-passes", ValueIs::Folders},
    {"--dump-dir", ValueIs::Folders}, {"--templates", ValueIs::Folders},
    {"--folder", ValueIs::Folders},   {"--shape", ValueIs::Nothing},
    {"--value", ValueIs::Nothing},    {"--param", ValueIs::Nothing},
    {"--name", ValueIs::Nothing},     {"--filter", ValueIs::Nothing},
    {"--group", ValueIs::Nothing},    {"--schedule", ValueIs::Nothing},
    {"--watch", ValueIs::Nothing},    {"--order", ValueIs::Nothing},
    {"--pass", ValueIs::Nothing},     {"--from", ValueIs::Nothing},
    {"--skip", ValueIs::Nothing},
};

// A file is the guess for an option that no table knows: a wrong one costs nothing but a longer
// list.
ValueIs value_is(const Switch& one) {
  if (one.takes_number) return ValueIs::Nothing;
  for (const ValueKind& known : kValueKinds)
    if (has_name(one, known.name)) return known.kind;
  return ValueIs::Files;
}

// Options whose values no table lists, and that have one meaning in all verbs.
std::vector<std::string> offered_values(const Switch& one, const std::string& begun) {
  if (has_name(one, "--target")) return targets(begun);
  if (has_name(one, "--fill")) return {"zeros", "ones", "normal", "int:"};
  if (has_name(one, "--dtype"))
    return {"f64", "f32", "f16", "bf16", "i8",  "i16", "i32",
            "i64", "u8",  "u16", "u32",  "u64", "bool"};
  return one.values;
}

class Completer {
 public:
  explicit Completer(const Verb& app) : switches_(app.switches()), verbs_(app.verbs()) {}

  // Words before the last one say which verb it is and whether an option still waits for its value.
  // What is wrong among them is passed over: the line is not finished.
  void run(const std::vector<std::string>& words) {
    const std::string last = words.empty() ? "" : words.back();
    const Switch* waiting = nullptr;  // an option whose value comes next
    for (std::size_t i = 0; i + 1 < words.size(); ++i) {
      const std::string& word = words[i];
      if (waiting != nullptr) {
        waiting = nullptr;
      } else if (is_option(word)) {
        const Switch* one = word.find('=') == std::string::npos ? find(word) : nullptr;
        waiting = one != nullptr && one->takes_value ? one : nullptr;
      } else if (is_verb(below(word))) {
        verb_ = below(word);
      }
    }
    const std::size_t equals = last.find('=');
    if (waiting != nullptr) return offer_values(*waiting, "", last);
    if (is_option(last) && equals != std::string::npos) {
      if (const Switch* one = find(last.substr(0, equals)); one != nullptr && one->takes_value)
        offer_values(*one, last.substr(0, equals + 1), last.substr(equals + 1));
      return;
    }
    if (is_option(last)) return offer_flags(last);
    offer_words(last);
  }

 private:
  const std::vector<Switch> switches_;
  const std::vector<Verb::Word> verbs_;
  std::string verb_;  // "", "op", "lab run"

  // "lab" and "run" are the verb "lab run".
  std::string below(const std::string& word) const {
    return verb_.empty() ? word : verb_ + " " + word;
  }
  bool is_verb(const std::string& path) const {
    return std::ranges::any_of(verbs_, [&](const Verb::Word& one) { return one.text == path; });
  }

  const Switch* find(const std::string& name) const {
    for (const Switch& one : switches_)
      if (one.verb == verb_ && has_name(one, name)) return &one;
    return nullptr;
  }

  // A line per offer: the word, a tab, its help. Lines that begin with a colon are orders to
  // the shell's script (kBash, kZsh, kFish).
  static void offer(const std::string& word, const std::string& help) {
    std::cout << word << "\t" << help << "\n";
  }
  static void offer(ValueIs kind) {
    if (kind == ValueIs::Files) std::cout << ":files\n";
    if (kind == ValueIs::Folders) std::cout << ":folders\n";
  }

  // `written`: what stands before the value in the same word.
  // Of "--emit program,lo" only what comes behind the last comma is completed; the rest is repeated
  // before each offer, since shells replace the whole word.
  static void offer_values(const Switch& one, const std::string& written,
                           const std::string& begun) {
    const std::size_t comma = one.separated ? begun.rfind(',') : std::string::npos;
    const std::string done = comma == std::string::npos ? "" : begun.substr(0, comma + 1);
    const std::string part = begun.substr(done.size());
    const std::vector<std::string> values = offered_values(one, part);
    bool more = one.separated;
    for (const std::string& value : values) {
      if (!value.starts_with(part)) continue;
      offer(written + done + value, "");
      more = more || value.ends_with(':');
    }
    if (values.empty()) return offer(value_is(one));
    if (more) std::cout << ":more\n";
  }

  // Long names only: short ones are faster typed than completed.
  void offer_flags(const std::string& begun) const {
    for (const Switch& one : switches_) {
      if (one.verb != verb_) continue;
      for (const std::string& name : split_words(one.names, ','))
        if (name.starts_with("--") && name.starts_with(begun)) offer(name, one.help);
    }
    if (verb_.empty())
      for (const char* name : {"--help", "--version"})
        if (std::string(name).starts_with(begun)) offer(name, "");
  }

  // A verb, or what a verb works on.
  void offer_words(const std::string& begun) const {
    const std::string before = verb_.empty() ? "" : verb_ + " ";
    for (const Verb::Word& one : verbs_) {
      if (!one.text.starts_with(before)) continue;
      const std::string name = one.text.substr(before.size());
      if (name.find(' ') == std::string::npos && name.starts_with(begun)) offer(name, one.help);
    }
    for (const Switch& one : switches_) {
      if (one.verb != verb_ || one.names.starts_with("-")) continue;
      for (const std::string& value : one.values)
        if (value.starts_with(begun)) offer(value, "");
      if (one.verb == "suites")
        for (const std::string& suite : lab::suite_names())
          if (suite.starts_with(begun)) offer(suite, "");
      if (one.verb == "help") {
        offer_verbs(begun);
      } else if (one.values.empty()) {
        offer(value_is(one));
      }
    }
  }

  void offer_verbs(const std::string& begun) const {
    for (const Verb::Word& one : verbs_)
      if (one.text.find(' ') == std::string::npos && one.text.starts_with(begun))
        offer(one.text, one.help);
  }
};

constexpr const char* kBash =
    R"(# What TAB offers after polyte, in bash; asked of the program itself.
# source <(polyte completion bash)
_polyte() {
  local line=${COMP_LINE:0:COMP_POINT} candidate keep='' current
  local -a words
  read -ra words <<< "$line"
  [[ $line == *[[:space:]] ]] && words+=('')
  current=${words[${#words[@]}-1]}
  # What bash replaces begins behind the last of its word breaks.
  [[ $COMP_WORDBREAKS == *=* && $current == *=* ]] && keep=${current%"${current##*=}"}
  [[ $COMP_WORDBREAKS == *:* && ${current#"$keep"} == *:* ]] && keep=${current%"${current##*:}"}
  COMPREPLY=()
  while IFS=$'\t' read -r candidate _; do
    case $candidate in
      :files | :folders)
        compopt -o filenames 2> /dev/null
        local kind=-f path
        [[ $candidate == :folders ]] && kind=-d
        while IFS= read -r path; do
          COMPREPLY+=("$path")
        done < <(compgen $kind -- "${current#"$keep"}") ;;
      :more) compopt -o nospace 2> /dev/null ;;
      *) COMPREPLY+=("${candidate#"$keep"}") ;;
    esac
  done < <("${words[0]/#\~/$HOME}" completion-words "${words[@]:1}" 2> /dev/null)
}
complete -F _polyte polyte
)";

constexpr const char* kZsh = R"(#compdef polyte
# What TAB offers after polyte, in zsh; asked of the program itself. source <(polyte completion zsh)
_polyte() {
  local line word help more= program=${words[1]/#\~/$HOME}
  local -a offered
  for line in "${(@f)$("$program" completion-words "${(@)words[2,CURRENT]}" 2> /dev/null)}"; do
    case $line in
      '') ;;
      :files) _files ;;
      :folders) _files -/ ;;
      :more) more=yes ;;
      *)
        word=${line%%$'\t'*} help=${line#*$'\t'}
        offered+=("${word//:/\\:}${help:+:$help}") ;;
    esac
  done
  if (( $#offered )); then
    local -a behind
    [[ -n $more ]] && behind=(-S '')
    _describe -t words polyte offered "${behind[@]}"
  fi
}
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then _polyte "$@"; else compdef _polyte polyte; fi
)";

constexpr const char* kFish =
    R"(# What TAB offers after polyte, in fish; asked of the program itself.
# polyte completion fish | source
function __polyte_words
  set -l before (commandline -opc)
  set -l current (commandline -ct)
  set -l program $before[1]
  for line in ($program completion-words $before[2..-1] "$current" 2> /dev/null)
    switch $line
      case ':files'
        __fish_complete_path "$current"
      case ':folders'
        __fish_complete_directories "$current"
      case ':more'
      case '*'
        echo $line
    end
  end
end
complete -c polyte -f -a '(__polyte_words)'
)";

int print_script(const std::string& shell) {
  std::cout << (shell == "bash" ? kBash : shell == "zsh" ? kZsh : kFish);
  return 0;
}

}  // namespace

int complete_words(const Verb& app, const std::vector<std::string>& words) {
  Completer(app).run(words);
  return 0;
}

void add_completion(const Verb& app) {
  const Verb verb =
      app.verb("completion", "what a shell needs to complete verbs, options and their values");
  auto shell = std::make_shared<std::string>();
  verb.option("shell", *shell, "bash, zsh or fish").required().one_of({"bash", "zsh", "fish"});
  verb.example("source <(polyte completion bash)");
  verb.calls([shell] { return print_script(*shell); });
}

void add_help(const Verb& app) {
  const Verb verb =
      app.verb("help", "what a verb does, with its options and an example: as VERB --help");
  auto words = std::make_shared<std::vector<std::string>>();
  verb.option("verb", *words, "a verb, and a verb below it");
  verb.example("polyte help lab run");
  verb.calls([words, app] {
    std::cout << app.help_of(*words);
    return 0;
  });
}

}  // namespace polyte::cli
