// One stream for all tabs of a browser: over HTTP/1.1 it has six connections to a server, and each
// stream takes one for good. The tab that holds a lock has the stream and passes on what it hears;
// when it closes, another gets the lock. Where a browser has no locks, each tab has its own.
(() => {
  if (!navigator.locks || !window.BroadcastChannel) return;
  const NAME = `live-${document.body.dataset.stream}`;
  const GATHER = 50;
  const SILENCE = 25000; // the server says something every ten seconds
  const LONGEST_WAIT = 30000;
  const tab = crypto.randomUUID();
  const channel = new BroadcastChannel(NAME);
  const streams = new Set();
  let heard = Date.now();
  let leader = null;
  let release = null;
  let queued = null;
  let joined = false;

  const addresses = () => [...new Set([...streams].map((stream) => stream.address))];
  const queryOf = (address) => new URL(address, location).searchParams;

  function namesFor(address) {
    const batch = queryOf(address).get("batch");
    return batch ? ["board", `batch-${batch}`] : ["board"];
  }

  // What htmx takes for an EventSource.
  class TabStream extends EventTarget {
    readyState = EventSource.CONNECTING;
    onopen = null;
    onerror = null;

    constructor(address) {
      super();
      this.address = address;
    }

    take(name, data) {
      this.dispatchEvent(new MessageEvent(name, { data }));
    }

    opened(late) {
      if (this.readyState !== EventSource.CONNECTING) return;
      this.readyState = EventSource.OPEN;
      this.onopen?.(new Event("open"));
      // Who opens a stream is told of everything; who joins one later may have missed something.
      if (late) for (const name of namesFor(this.address)) this.take(name, "");
    }

    lost() {
      if (this.readyState === EventSource.CLOSED) return;
      this.readyState = EventSource.CONNECTING;
      this.onerror?.(new Event("error"));
    }

    close() {
      this.readyState = EventSource.CLOSED;
      streams.delete(this);
      want();
    }
  }

  // The stream itself, while this tab holds the lock.
  class Leader {
    wanted = new Map();
    covered = [];
    source = null;
    timer = 0;
    wait = 500;

    want(who, which) {
      if (which.length) this.wanted.set(who, which);
      else this.wanted.delete(who);
      if (which.every((address) => this.covered.includes(address)) && !this.timer) {
        if (this.source?.readyState === EventSource.OPEN) tell({ state: "open", late: true, to: who });
      } else {
        this.timer ||= setTimeout(() => this.connect(), GATHER);
      }
    }

    connect() {
      clearTimeout(this.timer);
      this.timer = 0;
      this.source?.close();
      const covered = [...new Set([...this.wanted.values()].flat())];
      this.covered = covered;
      if (!covered.length) return;
      const views = covered.map((address) => `view=${encodeURIComponent(queryOf(address))}`);
      const source = new EventSource(`${new URL(covered[0], location).pathname}?${views.join("&")}`);
      this.source = source;
      source.onopen = () => {
        this.wait = 500;
        tell({ state: "open" });
      };
      source.onerror = () => {
        tell({ state: "lost" });
        if (source.readyState !== EventSource.CLOSED) return;
        this.wait = Math.min(this.wait * 2, LONGEST_WAIT);
        this.timer ||= setTimeout(() => this.connect(), this.wait);
      };
      for (const name of new Set(["patch", ...covered.flatMap(namesFor)])) {
        source.addEventListener(name, ({ data, lastEventId }) => tell({ address: covered[lastEventId], name, data }));
      }
    }

    end() {
      clearTimeout(this.timer);
      this.source?.close();
    }
  }

  function tell(message) {
    channel.postMessage(message);
    receive(message);
  }

  function receive({ roll, tab: who, want: which, state, late, to, address, name, data }) {
    if (roll) want();
    else if (which) leader?.want(who, which);
    else {
      heard = Date.now();
      for (const stream of [...streams]) {
        if (name && stream.address === address) stream.take(name, data);
        else if (state === "lost") stream.lost();
        else if (state === "open" && (!to || to === tab)) stream.opened(late);
      }
    }
  }

  // Says which addresses this tab shows.
  function want() {
    tell({ tab, want: addresses() });
  }

  function lead() {
    leader = new Leader();
    heard = Date.now();
    tell({ roll: true });
    return new Promise((resolve) => { release = resolve; });
  }

  function join(options = {}) {
    joined = true;
    if (!options.steal) {
      queued = new AbortController();
      options.signal = queued.signal;
    }
    navigator.locks.request(NAME, options, lead).catch((error) => {
      // Stolen: this tab was silent for too long, and stands in line again.
      if (leader && error.name === "AbortError") step(join);
    });
  }

  function step(next) {
    leader?.end();
    leader = null;
    release?.();
    release = null;
    next?.();
  }

  function leave() {
    joined = false;
    queued?.abort();
    queued = null;
    step();
  }

  htmx.createEventSource = (address) => {
    const stream = new TabStream(address);
    streams.add(stream);
    if (!joined) join();
    // Once htmx has put its own listeners on it.
    setTimeout(want);
    return stream;
  };

  channel.addEventListener("message", ({ data }) => receive(data));

  addEventListener("pagehide", () => {
    channel.postMessage({ tab, want: [] });
    leave();
  });

  addEventListener("pageshow", (event) => {
    if (!event.persisted || !streams.size) return;
    for (const stream of streams) stream.readyState = EventSource.CONNECTING;
    join();
    want();
  });

  setInterval(() => {
    if (document.hidden || !streams.size || Date.now() - heard < SILENCE) return;
    heard = Date.now();
    if (leader) leader.connect();
    else {
      leave();
      join({ steal: true });
    }
  }, 5000);
})();
