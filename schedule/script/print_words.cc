#include "schedule/script/print_words.h"

namespace polyte::schedule {

std::string list(const std::vector<std::string>& items, const std::string& separator) {
  std::string text;
  for (const std::string& item : items) text += (text.empty() ? "" : separator) + item;
  return text;
}

std::string list(const std::vector<Size>& sizes) {
  std::string text;
  for (const Size& size : sizes) text += (text.empty() ? "" : ", ") + size.text;
  return text;
}

std::string selector(const std::string& statement) {
  return statement.empty() ? "" : statement + ": ";
}

std::string spaced(const LoopName& loop) { return selector(loop.statement) + loop.loop; }
std::string parts(const std::vector<std::string>& names) {
  return names.empty() ? "" : " as " + list(names, ", ");
}
std::string named(const std::string& name) { return name.empty() ? "" : " as " + name; }

std::string print(Tail tail) {
  switch (tail) {
    case Tail::Guard:
      return "guard";
    case Tail::Mask:
      return "mask";
    case Tail::Cut:
      return "cut";
    case Tail::Round:
      return "round";
    case Tail::Shift:
      return "shift";
  }
  return "";
}

std::string print_per(const std::string& loop) { return loop.empty() ? "" : " once per " + loop; }

std::string split_item(const Split& split) {
  std::string text = split.loop.loop + (split.into ? " into " : " by ") + split.factor.text;
  if (!split.from.text.empty()) text += " from " + split.from.text;
  return text;
}

std::string param_item(const SetParam& param) {
  return param.name + " = " + param.value.text +
         (param.domain.empty() ? "" : " in {" + list(param.domain) + "}");
}

std::string tail_text(Tail tail) { return "   tail " + print(tail); }

}  // namespace polyte::schedule
