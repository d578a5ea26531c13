// Calls of the server. Each has an id and ends with its answer or with a sentence; one that is not answered is made
// again. pages/server/rpc.py is the other side, docs/architecture.md lists all messages.

const PATIENCE_MS = 10000; // until a call is made again; after that twice and three times as long
const TRIES = 3; // a minute in all, unless the server says that it is working on it
const NO_ANSWER = "The server did not answer for a minute, so nothing was changed: try again, or reload the page.";

export class CallError extends Error {
  constructor(sentence, kind = "problem") {
    super(sentence);
    this.kind = kind; // "problem", "expired" (the server has forgotten the page) or "unanswered"
  }
}

// `send` takes the name of a call and its arguments; what comes back, whenever it does, is given to `hear`.
export function openCalls(send) {
  const waiting = new Map(); // id -> what is done with the answer
  const running = new Map(); // name -> the end of the call that is at the server
  const next = new Map(); // name -> gives up the call that waits for that
  let ids = 0;

  function ask(name, given) {
    return new Promise((resolve, reject) => {
      const id = ++ids;
      let attempts = 0;
      let unanswered = 0;
      let timer = null;
      const attempt = () => {
        if (unanswered === TRIES) {
          waiting.delete(id);
          reject(new CallError(NO_ANSWER, "unanswered"));
          return;
        }
        unanswered += 1;
        timer = setTimeout(attempt, PATIENCE_MS * unanswered);
        send(name, { ...given, id, attempt: ++attempts });
      };
      waiting.set(id, answer => {
        clearTimeout(timer);
        if (answer.kind === "working") {
          unanswered = 1;
          timer = setTimeout(attempt, PATIENCE_MS);
          return;
        }
        waiting.delete(id);
        if (answer.sentence === undefined) resolve(answer);
        else reject(new CallError(answer.sentence, answer.kind));
      });
      attempt();
    });
  }

  // With `latest`, one call of this name is at the server at a time, and of those that wait for it the last one is
  // made; the others end with null.
  async function call(name, given, { latest = false } = {}) {
    if (!latest) return ask(name, given);
    next.get(name)?.();
    let isWanted = true;
    next.set(name, () => {
      isWanted = false;
    });
    await running.get(name);
    if (!isWanted) return null;
    next.delete(name);
    const answer = ask(name, given);
    running.set(
      name,
      answer.catch(() => {}),
    );
    return answer;
  }

  function hear(text) {
    const answer = JSON.parse(text || "{}");
    waiting.get(answer.id)?.(answer);
  }

  return { call, hear };
}

// The page's one channel, a component: calls are its events, answers its values.
// Gradio may build it anew, after a connection was lost: then calls go to the new one.
let channel = null;
let connected = null;
const ready = new Promise(resolve => {
  connected = resolve;
});
const calls = openCalls((name, data) => channel[name](data));

export function connect(_, host) {
  channel = host;
  host.watch("value", () => calls.hear(host.value()));
  connected();
}

export const call = async (...given) => {
  await ready;
  return calls.call(...given);
};
