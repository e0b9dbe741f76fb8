// The topology as a picture: operators with their numbers and executors, streams as wide as their traffic.

import { html, show, svg } from "./dom.js";
import { count, duration, percent, rate } from "./format.js";
import { isPassage, layers } from "./layout.js";

const WIDTH = 228, HEIGHT = 112, GAP_X = 76, GAP_Y = 20, EDGE = 12, SOURCE_HEIGHT = 44, PASSAGE_HEIGHT = 28;
const SMALLEST = 0.72; // the picture shrinks to the width of the page, but not below this
const MOST_SQUARES = 14, SQUARE = 9;
const MOST_LABELS = 40;
const PHASES = [["active", "serves"], ["coming", "starts"], ["standby", "stands by"], ["leaving", "leaves"], ["failed", "failed"]];

export class TopologyPicture {
  constructor(element, choose) {
    this.element = element;
    this.choose = choose;
  }

  setRun(run) {
    this.run = run;
    this.layout = layers(run.parts, run.edges);
  }

  draw(state, chosen, limit_s) {
    const { columns, back } = this.layout;
    const tall = (column) => column.reduce((sum, name) => sum + heightOf(name) + GAP_Y, -GAP_Y);
    const inner = Math.max(...columns.map(tall));
    const height = inner + 2 * EDGE + (back.size ? 34 + 14 * back.size : 0);
    const width = columns.length * (WIDTH + GAP_X) - GAP_X + 2 * EDGE;
    const operators = new Map((state?.operators ?? []).map((each) => [each.name, each]));
    const sources = new Set(this.run.parts.filter((part) => part.source).map((part) => part.name));
    const places = new Map();
    columns.forEach((column, at) => {
      let y = EDGE + (inner - tall(column)) / 2;
      for (const name of column) {
        places.set(name, { x: EDGE + at * (WIDTH + GAP_X), y, middle: y + heightOf(name) / 2 });
        y += heightOf(name) + GAP_Y;
      }
    });
    const shrink = Math.max(SMALLEST, Math.min(1, (this.element.clientWidth || width) / width));
    const picture = svg("svg", { width: width * shrink, height: height * shrink, viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": `Topology ${this.run.topology}` });
    const rates = new Map((state?.streams ?? []).map((each) => [key(each), each.rate]));
    const largest = Math.max(1e-9, ...[...rates.values()].map((each) => each ?? 0));
    const few = this.run.edges.length <= MOST_LABELS;
    let loop = 0;
    for (const edge of this.run.edges) {
      const isLoop = back.has(edge);
      if (isLoop) loop += 1;
      const traffic = rates.get(key(edge));
      const stops = [edge.producer, ...(this.layout.ways.get(edge) ?? []), edge.consumer].map((name) => places.get(name));
      picture.append(...stream(stops, traffic, largest, isLoop ? inner + 2 * EDGE + 14 * loop : null, few, edge.name));
    }
    for (const part of this.run.parts) {
      const place = places.get(part.name);
      picture.append(sources.has(part.name)
        ? source(part.name, place, this.rateOf(part.name, rates))
        : this.operator(part, place, operators.get(part.name), part.name === chosen, limit_s));
    }
    show(this.element, picture, legend());
  }

  rateOf(name, rates) {
    return this.run.edges.filter((edge) => edge.producer === name).map((edge) => rates.get(key(edge))).find((each) => each != null);
  }

  operator(part, { x, y }, view, isChosen, limit_s) {
    const limit = view?.sla_s ?? null;
    const missed = view?.latency_s != null && limit != null && view.latency_s > limit;
    const counts = view?.executors;
    const used = Math.min(1, view?.utilisation ?? 0);
    const press = () => this.choose(part.name);
    const group = svg("g", {
      class: `node${missed ? " missed" : ""}`, transform: `translate(${x} ${y})`, role: "button", tabindex: 0,
      "aria-pressed": String(isChosen), "data-key": part.name,
      "aria-label": `${part.name}: ${rate(view?.arrival_rate)} in, ${count(view?.queued)} queued, ${percent(view?.utilisation)} busy, latency ${duration(view?.latency_s)}, ${counts?.active ?? 0} of ${counts?.planned ?? 0} executors`,
      onclick: press, onkeydown: (event) => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); press(); } },
    });
    group.append(
      svg("rect", { class: "box", width: WIDTH, height: HEIGHT, rx: 6 }),
      text("name", 12, 22, clipped(part.name, 22)),
      text("label", WIDTH - 12, 22, part.key ? `by ${clipped(part.key, 9)}` : "", "end"),
      text("label", 12, 43, "in"), text("number", 94, 43, rate(view?.arrival_rate), "end"),
      text("label", 110, 43, "queue"), text("number", WIDTH - 12, 43, count(view?.queued), "end"),
      text("label", 12, 61, "busy"), text("number", 94, 61, percent(view?.utilisation), "end"),
      text("label", 110, 61, "latency"), text("number latency", WIDTH - 12, 61, duration(view?.latency_s), "end"),
      svg("rect", { class: "track", x: 12, y: 70, width: WIDTH - 24, height: 4, rx: 2 }),
      svg("rect", { class: "used", x: 12, y: 70, width: (WIDTH - 24) * used, height: 4, rx: 2 }),
      ...squares(counts),
    );
    if (view && !view.measured) group.append(text("label", 12, 43, "fused: measured with the one before"));
    if (limit != null) group.append(svg("title", {}, `latency ${duration(view.latency_s)}, SLA ${duration(limit)}`));
    else if (limit_s == null) group.append(svg("title", {}, part.name));
    return group;
  }
}

const heightOf = (name) => (isPassage(name) ? PASSAGE_HEIGHT : HEIGHT);
const key = (stream) => `${stream.name}\u0000${stream.consumer}`;
const clipped = (name, length) => (name.length > length ? `${name.slice(0, length - 1)}…` : name);

function text(kind, x, y, content, anchor = "start") {
  return svg("text", { class: kind, x, y, "text-anchor": anchor }, content);
}

function source(name, { x, y }, traffic) {
  const top = (HEIGHT - SOURCE_HEIGHT) / 2;
  return svg("g", { class: "source", transform: `translate(${x} ${y + top})` },
    svg("rect", { class: "box", width: WIDTH, height: SOURCE_HEIGHT, rx: SOURCE_HEIGHT / 2 }),
    text("name", 20, 27, clipped(name, 18)), text("label", WIDTH - 20, 27, rate(traffic), "end"));
}

function squares(counts) {
  if (!counts) return [];
  const kinds = PHASES.flatMap(([phase]) => Array(counts[phase]).fill(phase));
  const missing = Math.max(0, counts.planned - counts.active - counts.coming);
  const label = counts.active === counts.planned ? `${counts.active}` : `${counts.active} of ${counts.planned}`;
  const fits = kinds.slice(0, MOST_SQUARES);
  const drawn = fits.map((phase, at) => svg("rect", { class: phase, x: 12.5 + at * (SQUARE + 3), y: 88.5, width: SQUARE, height: SQUARE, rx: 1.5 }));
  for (let at = fits.length; at < Math.min(MOST_SQUARES, fits.length + missing); at += 1) {
    drawn.push(svg("rect", { class: "coming", x: 12.5 + at * (SQUARE + 3), y: 88.5, width: SQUARE, height: SQUARE, rx: 1.5 }));
  }
  return [...drawn, text("number", WIDTH - 12, 97, label, "end")];
}

function stream(stops, traffic, largest, below, labelled, name) {
  const thick = traffic == null ? 1.2 : 1.5 + 9 * Math.sqrt(traffic / largest);
  const [from, to] = [stops[0], stops[stops.length - 1]];
  const [x1, y1, x2, y2] = [from.x + WIDTH, from.middle, to.x, to.middle];
  const bend = GAP_X / 2;
  const forward = stops.slice(1).map((stop, at) => {
    const [x, y] = [stops[at].x + WIDTH, stops[at].middle];
    const passage = at + 2 < stops.length ? `H${stop.x + WIDTH}` : "";
    return `C${x + bend} ${y} ${stop.x - bend} ${stop.middle} ${stop.x} ${stop.middle}${passage}`;
  });
  const path = below == null
    ? `M${x1} ${y1} ${forward.join("")}`
    : `M${x1} ${y1} C${x1 + 60} ${y1} ${x1 + 60} ${below} ${x1 - 10} ${below} L${x2 + 10} ${below} C${x2 - 60} ${below} ${x2 - 60} ${y2} ${x2} ${y2}`;
  const line = svg("path", { class: `stream${below == null ? "" : " loop"}`, d: path, "stroke-width": thick }, svg("title", {}, `${name}: ${rate(traffic)}`));
  if (!labelled) return [line];
  const [x, y] = below == null ? [x1 + bend, (y1 + stops[1].middle) / 2 - thick / 2 - 5] : [(x1 + x2) / 2, below - thick / 2 - 3];
  return [line, text("stream-label", x, y, rate(traffic), "middle")];
}

function legend() {
  return html("p", { class: "legend" }, ...PHASES.map(([phase, words]) => html("span", {}, html("i", { class: phase }), words)),
    html("span", {}, "executors; streams are as wide as their traffic, dashed ones lead back"));
}
