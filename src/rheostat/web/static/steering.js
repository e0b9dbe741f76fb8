// Steering: pause, resume, dry run, another goal. Each asks for the token first, if this page does not have it.

import { byId, html, show } from "./dom.js";
import { identity, steer } from "./connection.js";

export class SteeringPanel {
  constructor({ done, notify }) {
    Object.assign(this, { done, notify });
  }

  draw(controls, goal, parts) {
    this.goal = goal;
    this.parts = parts;
    if (!controls.steerable) return show(byId("controls"), html("span", { class: "tip" }, controls.finished ? "" : "read-only"));
    if (!identity.token) return show(byId("controls"), html("span", { class: "tip" }, "read-only"), button("steer", "Steer …", () => this.askToken()));
    show(byId("controls"),
      controls.paused ? button("pause", "Resume", () => this.request({ do: "resume" })) : button("pause", "Pause", () => this.request({ do: "pause" })),
      button("dry", "Dry run", () => this.request({ do: "dry-run", on: !controls.dry_run }), controls.dry_run),
      button("goal", "Goal …", () => this.askGoal()));
  }

  async request(request) {
    try {
      this.done(await steer(request), request);
      return true;
    } catch (error) {
      if (error.status !== 401) this.notify(error.message);
      else {
        identity.token = "";
        this.askToken("That token is not the one that was printed at the start.");
      }
      return false;
    }
  }

  askToken(why = "") {
    const token = html("input", { type: "password", autocomplete: "off", required: true });
    const name = html("input", { type: "text", value: identity.name, maxlength: 100, autocomplete: "name" });
    dialog("Steer this run", why, [html("label", {}, "Token, as printed at the start", token), html("label", {}, "Your name, for the journal", name)], "Use it", () => {
      identity.token = token.value.trim();
      identity.name = name.value.trim();
      this.done(null, null);
      return true;
    });
  }

  askGoal() {
    const goal = this.goal;
    const slas = Object.entries({ "": "", ...goal.limits }).map(([scope, limits]) => ({ scope, field: html("input", { type: "text", value: limits, placeholder: "5s/30s" }) }));
    const total = html("input", { type: "number", min: 1, value: goal.total ?? "", placeholder: "any number" });
    const bounds = this.parts.filter((part) => !part.source).map(({ name }) => ({
      name, least: html("input", { type: "number", min: 1, value: goal.least[name] ?? "", "aria-label": `fewest executors of ${name}`, placeholder: "1" }),
      most: html("input", { type: "number", min: 1, value: goal.most[name] ?? "", "aria-label": `most executors of ${name}`, placeholder: "any" }),
    }));
    const given = (which) => Object.fromEntries(bounds.filter((each) => each[which].value).map((each) => [each.name, Number(each[which].value)]));
    dialog("Goal", "", [
      ...slas.map(({ scope, field }) => html("label", {}, scope ? `SLA ${scope}` : "SLA: latency / window", field)), html("label", {}, "Most executors of all", total),
      html("div", { class: "bounds" }, html("span", {}, "Executors"), html("span", {}, "fewest"), html("span", {}, "most"),
        ...bounds.flatMap((each) => [html("span", {}, each.name), each.least, each.most])),
    ], "Change", () => this.request({ do: "goal", slas: Object.fromEntries(slas.filter(({ field }) => field.value).map(({ scope, field }) => [scope, field.value])), total: total.value ? Number(total.value) : null, least: given("least"), most: given("most") }));
  }
}

function button(key, words, press, pressed) {
  return html("button", { type: "button", "data-key": key, onclick: press, "aria-pressed": pressed == null ? null : String(pressed) }, words);
}

function dialog(title, why, fields, action, confirm) {
  const element = byId("dialog");
  const form = html("form", { method: "dialog" }, html("h3", {}, title), ...fields, html("p", { class: "error", role: "alert" }, why),
    html("div", { class: "end" }, html("button", { type: "button", class: "quiet", onclick: () => element.close() }, "Cancel"), html("button", { type: "submit" }, action)));
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (await confirm()) element.close();
  });
  show(element, form);
  if (!element.open) element.showModal();
}
