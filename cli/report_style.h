#pragma once

#include <string_view>

namespace synps::cli {

/// The style sheet of a report: light or dark as the reader's system is, and black on white in
/// print.
inline constexpr std::string_view kReportStyle = R"css(
:root { color-scheme: light dark;
  --paper: #fbfaf7; --ink: #1d2126; --soft: #646b74; --rule: #d9d6ce; --faint: #ece9e2;
  --c0: #6d747c; --c1: #2f6db3; --c2: #c8553d; --c3: #23876a; --c4: #b07d12; --c5: #7a57a8;
  --c6: #b3406f; --c7: #0c8296; --c8: #6f8a1e; --c9: #8a5a3c; --c10: #4a4fb8; --c11: #c95f9e;
  --c12: #3f6b4f; }
@media (prefers-color-scheme: dark) { :root {
  --paper: #16191d; --ink: #e6e4df; --soft: #9aa1aa; --rule: #343a41; --faint: #23282e;
  --c0: #a2a9b1; --c1: #6ea8e8; --c2: #ee8468; --c3: #58c19f; --c4: #dfae48; --c5: #b496e0;
  --c6: #e880a9; --c7: #4fbdd0; --c8: #a9c45a; --c9: #c79a7c; --c10: #8f95f0; --c11: #f0a3cf;
  --c12: #86b596; } }
@media print { :root { --paper: #fff; --ink: #000; --soft: #444; --rule: #bbb; --faint: #eee; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink); line-height: 1.5;
  font-family: system-ui, -apple-system, "Segoe UI", "Noto Sans", sans-serif; font-size: 16px; }
main { max-width: 76rem; margin: 0 auto; padding: 3.5rem 1.5rem 5rem; }
code { font-family: ui-monospace, "SF Mono", "DejaVu Sans Mono", Menlo, Consolas, monospace;
  font-size: .92em; unicode-bidi: isolate; overflow-wrap: anywhere; }
.eyebrow { margin: 0 0 .6rem; color: var(--soft); font-size: .82rem; letter-spacing: .08em;
  text-transform: uppercase; }
h1 { margin: 0; font-size: 2rem; font-weight: 620; line-height: 1.2; letter-spacing: -.015em; }
h1 span { color: var(--soft); font-weight: 400; }
h2 { margin: 3.6rem 0 .3rem; font-size: 1.2rem; font-weight: 620; letter-spacing: -.005em; }
p { margin: .4rem 0; max-width: 44rem; }
.lede { margin-top: 1rem; font-size: 1.1rem; }
.note { color: var(--soft); font-size: .9rem; }
.facts { display: flex; flex-wrap: wrap; gap: 1.6rem 3.2rem; margin: 2.2rem 0 0; padding: 0; }
.facts div { min-width: 7rem; }
.facts dt { color: var(--soft); font-size: .85rem; }
.facts dd { margin: 0; font-size: 1.55rem; font-weight: 560; letter-spacing: -.01em;
  font-variant-numeric: tabular-nums; }
.facts small { color: var(--soft); font-size: .85rem; font-weight: 400; letter-spacing: 0; }
.legend > span { margin-right: 1.2em; white-space: nowrap; }
.wide { overflow-x: auto; }
table { width: 100%; margin: 1rem 0 0; border-collapse: collapse; font-size: .92rem;
  font-variant-numeric: tabular-nums; }
th { padding: .4rem 0 .4rem .9rem; border-bottom: 1px solid var(--ink); color: var(--soft);
  font-size: .8rem; font-weight: 500; line-height: 1.25; text-align: right;
  vertical-align: bottom; }
td { padding: .42rem 0 .42rem .9rem; border-bottom: 1px solid var(--faint); text-align: right;
  vertical-align: baseline; white-space: nowrap; }
th:first-child, td:first-child { padding-left: 0; text-align: left; white-space: normal; }
th.l, td.l { text-align: left; }
td.path { min-width: 11rem; }
td.name { min-width: 8rem; white-space: normal; }
td.bar { width: 22%; min-width: 4rem; vertical-align: middle; }
.track { height: .5rem; background: var(--faint); border-radius: .25rem; overflow: hidden; }
.fill { height: 100%; min-width: 1px; }
.swatch { display: inline-block; width: .68em; height: .68em; margin-right: .55em;
  border-radius: 50%; }
.s0 { background: var(--c0); } .s1 { background: var(--c1); } .s2 { background: var(--c2); }
.s3 { background: var(--c3); } .s4 { background: var(--c4); } .s5 { background: var(--c5); }
.s6 { background: var(--c6); } .s7 { background: var(--c7); } .s8 { background: var(--c8); }
.s9 { background: var(--c9); } .s10 { background: var(--c10); } .s11 { background: var(--c11); }
.s12 { background: var(--c12); }
svg { display: block; width: 100%; height: auto; margin: 1.2rem 0 0; overflow: visible; }
svg text { font-family: inherit; fill: var(--soft); font-size: 13px;
  font-variant-numeric: tabular-nums; }
.grid { stroke: var(--rule); stroke-width: 1; opacity: .6; }
.strip { stroke: var(--rule); stroke-width: 1; stroke-dasharray: 2 4; }
circle { fill-opacity: .55; }
circle:hover { fill-opacity: 1; stroke: var(--ink); }
.k0 { fill: var(--c0); } .k1 { fill: var(--c1); } .k2 { fill: var(--c2); }
.k3 { fill: var(--c3); } .k4 { fill: var(--c4); } .k5 { fill: var(--c5); }
.k6 { fill: var(--c6); } .k7 { fill: var(--c7); } .k8 { fill: var(--c8); }
.k9 { fill: var(--c9); } .k10 { fill: var(--c10); } .k11 { fill: var(--c11); }
.k12 { fill: var(--c12); }
ul { margin: .6rem 0 0; padding: 0; list-style: none; font-size: .92rem; }
li { padding: .25rem 0; border-bottom: 1px solid var(--faint); }
dl.words { margin: .8rem 0 0; font-size: .9rem; color: var(--soft); max-width: 52rem; }
dl.words dt { float: left; clear: left; width: 10rem; color: var(--ink); }
dl.words dd { margin: 0 0 .5rem 10rem; }
@media (max-width: 60rem) {
  main { padding: 2rem 1rem 3rem; }
  table { font-size: .78rem; }
  th { padding-left: .55rem; font-size: .74rem; }
  td { padding-left: .55rem; } }
@media (max-width: 40rem) { dl.words dt { float: none; } dl.words dd { margin-left: 0; } }
@media print {
  body { font-size: 10pt; }
  main { max-width: none; padding: 0; }
  .wide { overflow: visible; }
  table { font-size: 7.5pt; }
  th { padding-left: .4rem; font-size: 7pt; }
  td { padding-left: .4rem; }
  td.path, td.name { min-width: 6rem; }
  tr, svg { break-inside: avoid; }
  h2 { break-after: avoid; }
  .swatch, .track, .fill { print-color-adjust: exact; -webkit-print-color-adjust: exact; } }
)css";

}  // namespace synps::cli
