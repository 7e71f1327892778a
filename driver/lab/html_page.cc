#include "driver/lab/html_page.h"

namespace polyte::lab {

// Colours: Okabe and Ito's blue, vermilion and green, which people with any usual colour
// vision tell apart.
const char* const kReportStyle = R"css(
:root { --back: #ffffff; --text: #1c1e21; --soft: #5b6168; --line: #d5d9de; --shade: #f4f6f8;
        --fast: #0072b2; --slow: #b84e00; --even: #6b7178; --mark: #fff3cd; }
@media (prefers-color-scheme: dark) {
  :root { --back: #16181b; --text: #e6e8ea; --soft: #a3a9b0; --line: #3a3f45; --shade: #1f2226;
          --fast: #56b4e9; --slow: #f0955a; --even: #9aa1a9; --mark: #4a3d12; }
}
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1rem; max-width: 76rem; background: var(--back); color: var(--text);
       font: 1rem/1.45 system-ui, sans-serif; overflow-wrap: break-word; }
h1 { font-size: 1.5rem; margin: .2rem 0; }
h2 { font-size: 1.15rem; margin: 2rem 0 .5rem; border-bottom: 1px solid var(--line); }
h3 { font-size: 1rem; margin: 1.2rem 0 .4rem; }
p { margin: .4rem 0; max-width: 48rem; }
.soft { color: var(--soft); font-size: .9rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: .9rem; }
td { min-width: 4.5rem; }
th, td { padding: .3rem .5rem; border-bottom: 1px solid var(--line); text-align: left;
         vertical-align: top; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
thead th { background: var(--shade); }
th button { all: unset; cursor: pointer; font-weight: 600; }
th button:focus-visible { outline: 2px solid var(--fast); outline-offset: 2px; }
th[aria-sort=ascending] button::after { content: " \2191"; }
th[aria-sort=descending] button::after { content: " \2193"; }
.faster { color: var(--fast); font-weight: 600; }
.slower { color: var(--slow); font-weight: 600; }
.warning { border-left: 4px solid var(--slow); padding: .2rem .6rem; background: var(--shade);
           margin: .4rem 0; }
.nests { display: grid; gap: .8rem;
         grid-template-columns: repeat(auto-fill, minmax(min(22rem, 100%), 1fr)); }
.nests section { border: 1px solid var(--line); padding: .5rem .7rem; min-width: 0; }
.nests h4 { margin: 0 0 .3rem; font-size: .95rem; }
dl { margin: .3rem 0; font-size: .85rem; }
dt { color: var(--soft); }
dd { margin: 0 0 .3rem; }
pre, code { font: .8rem/1.4 ui-monospace, monospace; }
pre { white-space: pre-wrap; margin: .3rem 0; }
mark { background: var(--mark); color: inherit; }
figure { margin: .6rem 0; }
svg { width: 100%; max-width: 34rem; height: auto; display: block; }
svg text { fill: var(--text); font: 11px system-ui, sans-serif; }
svg .axis { stroke: var(--line); stroke-width: 1; }
svg .one { stroke: var(--text); stroke-width: 1; stroke-dasharray: 4 3; }
svg .bar { fill: var(--even); }
svg .bar.faster { fill: var(--fast); }
svg .bar.slower { fill: var(--slow); }
svg .whisker, svg .roof { stroke: var(--text); stroke-width: 1.5; fill: none; }
svg .line { stroke: var(--even); stroke-width: 1.5; fill: none; }
svg .dot { fill: var(--fast); stroke: var(--back); stroke-width: 1; }
dl code, pre { overflow-wrap: anywhere; }
details > summary { cursor: pointer; color: var(--soft); }
@media print {
  :root { --back: #fff; --text: #000; --soft: #333; --line: #999; --shade: #eee;
          --fast: #0072b2; --slow: #b84e00; --even: #777; --mark: #ddd; }
  body { max-width: none; font-size: 10pt; }
  .nests section, tr, svg { break-inside: avoid; }
  .wide { overflow: visible; }
  details > summary { display: none; }
}
)css";

// A cell's data-value is its unrounded figure, which its text may not tell from another.
const char* const kReportScript = R"js(
'use strict';
for (const table of document.querySelectorAll('table.sortable')) {
  const heads = Array.from(table.tHead.rows[0].cells);
  const key = (row, at) => row.cells[at].dataset.value ?? row.cells[at].textContent;
  const sort = (at) => {
    const up = heads[at].getAttribute('aria-sort') !== 'ascending';
    heads.forEach((head) => head.removeAttribute('aria-sort'));
    heads[at].setAttribute('aria-sort', up ? 'ascending' : 'descending');
    const rows = Array.from(table.tBodies[0].rows);
    rows.sort((a, b) => {
      const x = key(a, at), y = key(b, at);
      // What has no figure stays below.
      if (x === '' || y === '') return x === y ? 0 : x === '' ? 1 : -1;
      const numbers = !isNaN(x) && !isNaN(y);
      const order =
          numbers ? Number(x) - Number(y) : x.localeCompare(y, undefined, {numeric: true});
      return up ? order : -order;
    });
    table.tBodies[0].append(...rows);
  };
  heads.forEach((head, at) => {
    const button = document.createElement('button');
    button.type = 'button';
    button.textContent = head.textContent;
    button.addEventListener('click', () => sort(at));
    head.replaceChildren(button);
  });
}
addEventListener('beforeprint', () => {
  document.querySelectorAll('details').forEach((d) => { d.open = true; });
});
)js";

}  // namespace polyte::lab
