// The verbs of polyte lab, each in the file that its comment names.
#pragma once

#include "driver/cli/verb.h"

namespace polyte::cli {

void add_lab_report(const Verb& lab);   // lab_report.cc
void add_lab_status(const Verb& lab);   // lab_report.cc
void add_lab_compare(const Verb& lab);  // lab_report.cc

}  // namespace polyte::cli
