//! How the page looks, in light and in dark.

/// The style sheet. Colours are named by what they mean; marks of plots take them by class.
pub(super) const STYLE: &str = "
:root {
  color-scheme: light dark;
  --page: #fbfaf7; --card: #ffffff; --ink: #1d2421; --soft: #5d6862; --line: #e2e0d8; --grid: #ecebe4;
  --sapwood: #16795c; --reference: #c26a1b; --good: #dcefe5; --bad: #f8e0cf; --warn: #fff3d6;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #14181a; --card: #1c2224; --ink: #e6ebe8; --soft: #9aa7a1; --line: #2f383a; --grid: #283032;
    --sapwood: #41c79b; --reference: #f0a05a; --good: #173b2e; --bad: #46291a; --warn: #3a3116;
  }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink);
  font: 15px/1.5 system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif; }
main { max-width: 1240px; margin: 0 auto; padding: 2.5rem 1.25rem 5rem; }
h1 { font-size: 1.9rem; line-height: 1.2; margin: 0 0 .3rem; letter-spacing: -.01em; }
h2 { font-size: 1.3rem; margin: 3rem 0 .4rem; }
h3 { font-size: 1rem; margin: 1.6rem 0 .5rem; }
p { max-width: 46rem; margin: .3rem 0 1rem; color: var(--soft); }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(9.5rem, 1fr)); gap: .8rem; margin: 1.6rem 0 .6rem; }
.tile, figure, details, .facts { background: var(--card); border: 1px solid var(--line); border-radius: 10px; }
.tile { padding: .9rem 1rem; }
.tile b { display: block; font-size: 1.9rem; line-height: 1.15; font-variant-numeric: tabular-nums; }
.tile strong { display: block; font-size: .95rem; }
.tile span { color: var(--soft); font-size: .86rem; }
.facts { display: grid; grid-template-columns: max-content 1fr; gap: .15rem 1.2rem; padding: .9rem 1.1rem;
  font-size: .88rem; margin: 1rem 0; }
.facts dt { color: var(--soft); } .facts dd { margin: 0; overflow-wrap: anywhere; }
.notes { background: var(--warn); border-radius: 10px; padding: .7rem 1.1rem .7rem 2.1rem; font-size: .9rem; margin: 1rem 0; }
.legend { display: flex; flex-wrap: wrap; gap: .3rem 1.4rem; margin: .4rem 0 .9rem; font-size: .88rem; color: var(--soft); }
.legend svg { vertical-align: -2px; margin-right: .4rem; }
.grid { display: grid; gap: .8rem; }
.c1 { grid-template-columns: 1fr; }
.c2 { grid-template-columns: repeat(auto-fit, minmax(min(24rem, 100%), 1fr)); }
.c3 { grid-template-columns: repeat(auto-fit, minmax(min(21rem, 100%), 1fr)); }
.grid > * { min-width: 0; }
figure { margin: 0; padding: .7rem .8rem .5rem; }
figcaption { font-size: .88rem; font-weight: 600; margin-bottom: .2rem; }
figcaption small { font-weight: 400; color: var(--soft); }
svg { display: block; width: 100%; height: auto; }
.legend svg { display: inline-block; width: 14px; height: 14px; }
svg text { fill: var(--soft); font-size: 11px; font-family: inherit; font-variant-numeric: tabular-nums; }
svg text.value { fill: var(--ink); } svg text.end { text-anchor: end; } svg text.mid { text-anchor: middle; }
.gridline { stroke: var(--grid); } .axis { stroke: var(--soft); } .one { stroke: var(--soft); stroke-dasharray: 3 3; }
.range { stroke: var(--ink); stroke-width: 1.2; opacity: .65; }
.s-sapwood { fill: var(--sapwood); } .s-reference { fill: var(--reference); }
.l-sapwood { stroke: var(--sapwood); fill: none; stroke-width: 2; } .l-reference { stroke: var(--reference); fill: none; stroke-width: 2; }
.dash { stroke-dasharray: 5 4; }
.m-cold { fill: var(--sapwood); } .m-hot-os { fill: var(--card); stroke: var(--sapwood); stroke-width: 1.8; }
.m-hot-server { fill: var(--ink); opacity: .8; }
details { padding: .6rem 1rem; margin: .8rem 0; } summary { cursor: pointer; font-weight: 600; }
.scroll { overflow-x: auto; } .wide svg { min-width: 46rem; }
table { border-collapse: collapse; font-size: .84rem; font-variant-numeric: tabular-nums; margin: .6rem 0; }
th, td { padding: .22rem .65rem; border-bottom: 1px solid var(--line); text-align: right; white-space: nowrap; }
th { color: var(--soft); font-weight: 600; position: sticky; top: 0; background: var(--card); }
.label { text-align: left; } td.good { background: var(--good); } td.bad { background: var(--bad); }
footer { margin-top: 3rem; color: var(--soft); font-size: .85rem; }
@media (max-width: 34rem) {
  main { padding: 1.4rem .8rem 3rem; } details { padding: .5rem .6rem; } h1 { font-size: 1.6rem; }
  .facts { grid-template-columns: 1fr; } .facts dd { margin-bottom: .35rem; }
}
@media print { body { background: none; } details { break-inside: avoid; } }
";
