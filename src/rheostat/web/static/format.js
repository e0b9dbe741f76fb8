// Numbers, times and durations as text; what is unknown is a dash.

const DASH = "–";
const WHOLE = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const SHORT = new Intl.NumberFormat("en", { maximumSignificantDigits: 3 });
const UNITS = [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"], [1e-3, "ms"]];
const EPOCH_FROM = 1e9; // times below are on a simulator's clock

export function count(value) {
  if (value == null) return DASH;
  const size = Math.abs(value);
  if (size >= 1e9) return `${SHORT.format(value / 1e9)} G`;
  if (size >= 1e6) return `${SHORT.format(value / 1e6)} M`;
  if (size >= 1e5) return `${SHORT.format(value / 1e3)} k`;
  return size >= 100 || Number.isInteger(value) ? WHOLE.format(value) : SHORT.format(value);
}

export function rate(value) {
  return value == null ? DASH : `${count(value)}/s`;
}

export function percent(share, digits = 0) {
  return share == null ? DASH : `${(100 * share).toFixed(digits)} %`;
}

export function duration(seconds) {
  if (seconds == null) return DASH;
  for (const [length, unit] of UNITS) {
    const number = seconds / length;
    if (Math.abs(number) >= 0.9995) return `${Math.abs(number) >= 100 ? number.toFixed(0) : +number.toPrecision(3)} ${unit}`;
  }
  return seconds ? `${+(seconds * 1e6).toPrecision(3)} µs` : "0 s";
}

export function bytes(value) {
  if (value == null) return DASH;
  for (const [size, unit] of [[2 ** 30, "GB"], [2 ** 20, "MB"], [2 ** 10, "kB"]]) {
    if (value >= size) return `${+(value / size).toPrecision(3)} ${unit}`;
  }
  return `${value} B`;
}

export function executorHours(seconds) {
  return seconds < 36000 ? `${count(Math.round(seconds / 36) / 100)}` : count(Math.round(seconds / 3600));
}

// A time of day, or the time since the start of a simulation; with the date where a run is longer than a day.
export function clock(time_s, span_s = 0) {
  if (time_s == null) return DASH;
  if (time_s < EPOCH_FROM) return elapsed(time_s);
  const date = new Date(time_s * 1000);
  const day = span_s > 86400 ? `${date.toLocaleDateString("en-GB", { day: "numeric", month: "short" })} ` : "";
  return day + date.toLocaleTimeString("en-GB", span_s > 172800 ? { hour: "2-digit", minute: "2-digit" } : {});
}

function elapsed(time_s) {
  const whole = Math.floor(time_s + 1e-6);
  const parts = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
  return (parts[0] ? parts : parts.slice(1)).map((each, at) => (at ? String(each).padStart(2, "0") : each)).join(":");
}
