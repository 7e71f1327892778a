# Writes OUTPUT, the C++ source of schedule::own_template_texts(), from FILES.
set(entries "")
foreach(file IN LISTS FILES)
  get_filename_component(name "${file}" NAME)
  file(READ "${file}" text)
  string(APPEND entries "      {\"${name}\", R\"sched(${text})sched\"},\n")
endforeach()
file(WRITE "${OUTPUT}" "#include \"schedule/templates/template_text.h\"

namespace polyte::schedule {

const std::map<std::string, std::string>& own_template_texts() {
  static const std::map<std::string, std::string> kTexts = {
${entries}  };
  return kTexts;
}

}  // namespace polyte::schedule
")
