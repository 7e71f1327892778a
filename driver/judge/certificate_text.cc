#include "driver/judge/certificate_text.h"

#include <nlohmann/json.hpp>

#include "schedule/proof/certificate.h"

namespace polyte::driver {
namespace {

using nlohmann::ordered_json;

// Here and below: what only some schedules have is left out of the certificates of others.
ordered_json to_json(const schedule::CertificateBuffer& b) {
  ordered_json json{{"id", b.id},
                    {"name", b.name},
                    {"of", b.of},
                    {"role", b.role},
                    {"dtype", b.dtype},
                    {"box", b.box},
                    {"scope_rows", b.scope_rows},
                    {"alloc_rows", b.alloc_rows},
                    {"place", b.place},
                    {"at_compile_time", b.at_compile_time}};
  if (b.of_threads) json["of_threads"] = true;
  return json;
}

ordered_json to_json(const schedule::CertificateAccess& a) {
  ordered_json json{{"buffer", a.buffer},
                    {"cells", a.cells},
                    {"write", a.write},
                    {"own", a.own},
                    {"exact", a.exact}};
  if (!a.outside.empty()) json.update({{"outside", a.outside}, {"fill", a.fill}});
  return json;
}

ordered_json to_json(const schedule::CertificateStatement& s) {
  ordered_json json{{"id", s.id},
                    {"name", s.name},
                    {"kind", s.kind},
                    {"combiner", s.combiner},
                    {"iterators", s.iterators},
                    {"domain", s.domain},
                    {"time", s.time}};
  if (!s.phi.empty()) json["phi"] = s.phi;
  if (!s.thread.empty()) json["thread"] = s.thread;
  json.update({{"operation", s.operation},
               {"indices", s.indices},
               {"reductions", s.reductions},
               {"permitted", s.permitted},
               {"atomic", s.atomic},
               {"padded", s.padded},
               {"prefix", s.prefix}});
  json["accesses"] = ordered_json::array();
  for (const schedule::CertificateAccess& a : s.accesses) json["accesses"].push_back(to_json(a));
  return json;
}

ordered_json to_json(const schedule::CertificateLoop& l) {
  return {{"name", l.name}, {"kind", l.kind}, {"depth", l.depth}, {"statements", l.statements}};
}

template <class Item>
ordered_json list(const std::vector<Item>& items) {
  ordered_json json = ordered_json::array();
  for (const Item& item : items) json.push_back(to_json(item));
  return json;
}

}  // namespace

std::string certificate_text(const schedule::State& state) {
  const schedule::Certificate c = schedule::make_certificate(state);
  ordered_json json{{"format", "polyte certificate 1"}, {"name", c.name}};
  json["reference"] = c.reference;
  json["rewrites"] = c.rewrites;
  json["basis"] = c.basis;
  json["contract"] = c.contract;
  json["params"] = c.params;
  json["context"] = c.context;
  json["buffers"] = list(c.buffers);
  json["program"] = list(c.program);
  json["schedule"] = list(c.schedule);
  json["concurrent"] = list(c.concurrent);
  return json.dump(1) + "\n";
}

}  // namespace polyte::driver
