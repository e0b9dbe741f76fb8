// The topology as a picture: operators with their numbers and executors, streams as wide as their traffic.

import { html, show, svg } from "./dom.js";
import { count, duration, percent, rate } from "./format.js";
import { isPassage, layers } from "./layout.js";

const WIDTH = 236, HEIGHT = 112, WIDEST_GAP = 76, NARROWEST_GAP = 38, GAP_Y = 20, EDGE = 12, SOURCE_HEIGHT = 44, PASSAGE_HEIGHT = 28;
const HALF = 92, RIGHT_HALF = 116; // the two columns of numbers in an operator
const SMALLEST = 0.72, LARGEST = 1.3; // the picture follows the width of the page, between these
const MOST_SQUARES = 12, SQUARE = 9;
const LETTER = 6.9, NAME_LETTER = 8.4; // how wide letters are, about
const MOST_LABELS = 40;
const PHASES = [["executors", "active", "serves"], ["coming", "coming", "starts"], ["standby", "standby", "stands by"], ["leaving", "leaving", "leaves"], ["failed", "failed", "failed"]];

export class TopologyPicture {
  constructor(element, choose) {
    this.element = element;
    this.choose = choose;
  }

  setRun(run) {
    this.run = run;
    this.layout = layers(run.parts, run.edges);
  }

  // In its own size, with `gap` between the columns.
  width(gap = WIDEST_GAP) {
    return this.layout.columns.length * (WIDTH + gap) - gap + 2 * EDGE;
  }

  draw(state, chosen, limit_s) {
    const { columns, back } = this.layout;
    const tall = (column) => column.reduce((sum, name) => sum + heightOf(name) + GAP_Y, -GAP_Y);
    const inner = Math.max(...columns.map(tall));
    const height = inner + 2 * EDGE + (back.size ? 22 + 14 * back.size : 0);
    const room = this.element.clientWidth || this.width();
    const gap = this.width() * SMALLEST <= room ? WIDEST_GAP : Math.max(NARROWEST_GAP, WIDEST_GAP - (this.width() - room / SMALLEST) / (columns.length - 1));
    const width = this.width(gap);
    const operators = new Map((state?.operators ?? []).map((each) => [each.name, each]));
    const sources = new Set(this.run.parts.filter((part) => part.source).map((part) => part.name));
    const places = new Map();
    columns.forEach((column, at) => {
      let y = EDGE + (inner - tall(column)) / 2;
      for (const name of column) {
        places.set(name, { x: EDGE + at * (WIDTH + gap), y, middle: y + heightOf(name) / 2 });
        y += heightOf(name) + GAP_Y;
      }
    });
    const size = Math.max(SMALLEST, Math.min(LARGEST, room / width));
    const picture = svg("svg", { width: width * size, height: height * size, viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": `Topology ${this.run.topology}` });
    const rates = new Map((state?.streams ?? []).map((each) => [key(each), each.rate]));
    const largest = Math.max(1e-9, ...[...rates.values()].map((each) => each ?? 0));
    const few = this.run.edges.length <= MOST_LABELS;
    let loop = 0;
    for (const edge of this.run.edges) {
      const isLoop = back.has(edge);
      if (isLoop) loop += 1;
      const traffic = rates.get(key(edge));
      const stops = [edge.producer, ...(this.layout.ways.get(edge) ?? []), edge.consumer].map((name) => places.get(name));
      picture.append(...stream(stops, gap, traffic, largest, isLoop ? inner + 2 * EDGE + 14 * loop : null, few, edge.name));
    }
    for (const part of this.run.parts) {
      const place = places.get(part.name);
      picture.append(sources.has(part.name)
        ? source(part.name, place, this.rateOf(part.name, rates))
        : this.operator(part, place, operators.get(part.name), part.name === chosen, limit_s));
    }
    show(this.element, picture, ...(state?.paths ?? []).map(path));
  }

  rateOf(name, rates) {
    return this.run.edges.filter((edge) => edge.producer === name).map((edge) => rates.get(key(edge))).find((each) => each != null);
  }

  // `limit_s` is the SLA of the whole topology, which an operator without one of its own is compared with.
  operator(part, { x, y }, view, isChosen, limit_s) {
    const own_s = view?.sla_s ?? null;
    const press = () => this.choose(part.name);
    const group = svg("g", {
      class: `node${isOver(view?.latency_s, own_s) ? " missed" : ""}`, transform: `translate(${x} ${y})`, role: "button", tabindex: 0,
      "aria-pressed": String(isChosen), "data-key": part.name,
      "aria-label": `${part.name}: ${rate(view?.arrival_rate)} in, ${count(view?.queued)} queued, ${percent(view?.utilisation)} busy, latency ${duration(view?.latency_s)}${own_s == null ? "" : ` of ${duration(own_s)}`}, ${view?.executors ?? 0} of ${view?.planned ?? 0} executors`,
      onclick: press, onkeydown: (event) => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); press(); } },
    });
    const right = own_s == null ? "" : `SLA ${duration(own_s)}`;
    const room = WIDTH - 24 - LETTER * right.length; // the name comes first, then its key
    const name = clipped(part.name, Math.floor(room / NAME_LETTER));
    const left = Math.floor((room - NAME_LETTER * name.length) / LETTER);
    const by = part.key && left > 5 ? clipped(` by ${part.key}`, left) : "";
    group.append(
      svg("title", {}, part.key ? `${part.name} by ${part.key}` : part.name),
      svg("rect", { class: "box", width: WIDTH, height: HEIGHT, rx: 6 }),
      svg("text", { class: "name", x: 12, y: 22 }, name, svg("tspan", { class: "label" }, by)),
      text("label", WIDTH - 12, 22, right, "end"),
      ...(view?.measured === false ? [text("label", 12, 52, "fused: measured with the one before it")] : numbers(view, own_s ?? limit_s)),
      ...squares(view),
    );
    return group;
  }
}

const heightOf = (name) => (isPassage(name) ? PASSAGE_HEIGHT : HEIGHT);
const key = (stream) => `${stream.name}\u0000${stream.consumer}`;
const clipped = (name, length) => (name.length > length ? `${name.slice(0, length - 1)}…` : name);
const isOver = (value, limit) => value != null && limit != null && value > limit;

function text(kind, x, y, content, anchor = "start") {
  return svg("text", { class: kind, x, y, "text-anchor": anchor }, content);
}

function numbers(view, limit_s) {
  const pair = (title, value, x, y, kind = "") => [text("label", x, y, title), text(`number ${kind}`, x === 12 ? 12 + HALF : WIDTH - 12, y, value, "end")];
  return [
    ...pair("in", rate(view?.arrival_rate), 12, 43), ...pair("queue", count(view?.queued), RIGHT_HALF, 43),
    ...pair("busy", percent(view?.utilisation), 12, 61), ...pair("latency", duration(view?.latency_s), RIGHT_HALF, 61, "latency"),
    ...meter(12, HALF, view?.utilisation ?? 0), ...meter(RIGHT_HALF, WIDTH - 12 - RIGHT_HALF, limit_s == null ? null : (view?.latency_s ?? 0) / limit_s, isOver(view?.latency_s, limit_s)),
  ];
}

function meter(x, width, share, missed = false) {
  if (share == null) return [];
  return [svg("rect", { class: "track", x, y: 69, width, height: 4, rx: 2 }),
    svg("rect", { class: `used${missed ? " over" : ""}`, x, y: 69, width: width * Math.min(1, share), height: 4, rx: 2 })];
}

function source(name, { x, y }, traffic) {
  const top = (HEIGHT - SOURCE_HEIGHT) / 2;
  return svg("g", { class: "source", transform: `translate(${x} ${y + top})` },
    svg("rect", { class: "box", width: WIDTH, height: SOURCE_HEIGHT, rx: SOURCE_HEIGHT / 2 }),
    text("name", 20, 27, clipped(name, 18)), text("label", WIDTH - 20, 27, rate(traffic), "end"));
}

// A square for each executor, and for each that is planned and not yet requested.
function squares(view) {
  if (!view) return [];
  const kinds = PHASES.flatMap(([field, phase]) => Array(view[field]).fill(phase));
  const missing = Math.max(0, view.planned - view.executors - view.coming);
  const fits = [...kinds, ...Array(missing).fill("planned")].slice(0, MOST_SQUARES);
  const label = (view.executors === view.planned ? `${view.executors}` : `${view.executors} of ${view.planned}`) + (view.settling ? " …" : "");
  return [...fits.map((phase, at) => svg("rect", { class: phase, x: 12.5 + at * (SQUARE + 3), y: 88.5, width: SQUARE, height: SQUARE, rx: 1.5 })),
    text("number", WIDTH - 12, 97, label, "end")];
}

function stream(stops, gap, traffic, largest, below, labelled, name) {
  const thick = traffic == null ? 1.2 : 1.5 + 9 * Math.sqrt(traffic / largest);
  const [from, to] = [stops[0], stops[stops.length - 1]];
  const [x1, y1, x2, y2] = [from.x + WIDTH, from.middle, to.x, to.middle];
  const bend = gap / 2;
  const forward = stops.slice(1).map((stop, at) => {
    const [x, y] = [stops[at].x + WIDTH, stops[at].middle];
    const passage = at + 2 < stops.length ? `H${stop.x + WIDTH}` : "";
    return `C${x + bend} ${y} ${stop.x - bend} ${stop.middle} ${stop.x} ${stop.middle}${passage}`;
  });
  const path = below == null
    ? `M${x1} ${y1} ${forward.join("")}`
    : `M${x1} ${y1} C${x1 + 60} ${y1} ${x1 + 60} ${below} ${x1 - 10} ${below} L${x2 + 10} ${below} C${x2 - 60} ${below} ${x2 - 60} ${y2} ${x2} ${y2}`;
  const line = svg("path", { class: `stream${below == null ? "" : " loop"}`, d: path, "stroke-width": thick }, svg("title", {}, `${name}: ${rate(traffic)}`));
  const wide = 4.5 + thick / 2;
  const head = svg("path", { class: "head", d: `M${x2} ${y2} l${-wide} ${-wide} v${2 * wide} Z` });
  if (!labelled) return [line, head];
  const [x, y] = below == null ? [x1 + bend, (y1 + stops[1].middle) / 2 - thick / 2 - 5] : [(x1 + x2) / 2, below - thick / 2 - 3];
  return [line, head, text("stream-label", x, y, rate(traffic), "middle")];
}

// A path that has an SLA of its own.
function path({ operators, latency_s, sla_s }) {
  return html("p", { class: `path${isOver(latency_s, sla_s) ? " missed" : ""}` }, html("span", {}, `along ${operators.join(" → ")} `),
    html("b", {}, duration(latency_s)), html("span", {}, ` of ${duration(sla_s)}`));
}

export function legend() {
  return [...PHASES, ["planned", "planned", "planned"]].map(([, phase, words]) => html("span", {}, html("i", { class: phase }), words))
    .concat(html("span", { title: "Streams are as wide as their traffic" }, html("i", { class: "loop" }), "leads back"));
}
