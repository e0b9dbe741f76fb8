// The server: requests with the token, if there is one, and the stream of changes, which comes back by itself.

const RETRY_FIRST_MS = 500;
const RETRY_LONGEST_MS = 8000;
const SILENT_MS = 25000; // the server says something at least every 10 s

const kept = sessionStorage;

export const identity = {
  get token() { return kept.getItem("token") ?? ""; },
  set token(value) { kept.setItem("token", value); },
  get name() { return kept.getItem("name") ?? ""; },
  set name(value) { kept.setItem("name", value); },
};

// The token stands behind the # of the address that was printed: it is taken from there and does not stay there.
export function takeToken() {
  const given = new URLSearchParams(location.hash.slice(1)).get("token");
  if (!given) return;
  identity.token = given;
  history.replaceState(null, "", location.pathname);
}

export async function ask(path, values = {}) {
  const query = new URLSearchParams(Object.entries(values).filter(([, value]) => value !== "" && value != null));
  return answered(await fetch(`${path}?${query}`, { headers: headers() }));
}

export async function steer(request) {
  const body = JSON.stringify({ ...request, by: identity.name });
  return answered(await fetch("api/steer", {
    method: "POST", headers: { ...headers(), "Content-Type": "application/json" }, body,
  }));
}

// Calls `changed` with each message, `opened` when the stream is open, `lost` when it is not.
export async function follow({ opened, changed, lost }) {
  let wait = RETRY_FIRST_MS;
  for (;;) {
    try {
      for await (const message of messages(opened)) {
        wait = RETRY_FIRST_MS;
        changed(message);
      }
      lost(null);
    } catch (error) {
      lost(error);
    }
    await new Promise((go) => setTimeout(go, wait));
    wait = Math.min(2 * wait, RETRY_LONGEST_MS);
  }
}

async function* messages(opened) {
  const aborted = new AbortController();
  let timer = setTimeout(() => aborted.abort(), SILENT_MS);
  try {
    const response = await fetch("api/events", { headers: headers(), signal: aborted.signal });
    if (!response.ok) await answered(response);
    await opened();
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    for (let text = ""; ;) {
      const { value, done } = await reader.read();
      if (done) return;
      clearTimeout(timer);
      timer = setTimeout(() => aborted.abort(), SILENT_MS);
      const parts = (text + value).split("\n\n");
      text = parts.pop();
      for (const part of parts) if (part.startsWith("data: ")) yield JSON.parse(part.slice(6));
    }
  } finally {
    clearTimeout(timer);
    aborted.abort();
  }
}

function headers() {
  return identity.token ? { Authorization: `Bearer ${identity.token}` } : {};
}

async function answered(response) {
  const body = await response.json();
  if (!response.ok) throw Object.assign(new Error(body.error ?? response.statusText), { status: response.status });
  return body;
}
