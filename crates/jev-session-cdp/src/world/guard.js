  // Identity and guards: which node an id means, and all that an action on it depends on. The record
  // itself never leaves this world; what leaves is a name for it.
  const ids = new WeakMap();
  const nodes = new Map();
  const guards = new Map();
  let lastId = 0;
  let lastGuard = 0;
  /** Names kept; older ones are forgotten first, and what they stood for then counts as changed. */
  const GUARDS_MOST = 20_000;

  const idOf = (el) => {
    let id = ids.get(el);
    if (id === undefined) {
      lastId += 1;
      id = "c" + lastId;
      ids.set(el, id);
      nodes.set(id, new WeakRef(el));
    }
    return id;
  };

  const STATES = ["target", "rel", "role", "aria-disabled", "aria-expanded", "aria-checked", "aria-selected", "aria-pressed", "download", "ping", "type"];

  /** All that an action on this node depends on, as text that can be compared. */
  const recordOf = (el, tag, href, label) => {
    const states = STATES.map((name) => getAttribute.call(el, name));
    const off = disabled(el, tag);
    const checked = tag === "input" ? inputCheckedOf.call(el) : null;
    const of = ownerDocumentOf.call(el);
    return JSON.stringify([tag, href, label, addressOfDocument(of), off, checked, states]);
  };

  const guardOf = (el, tag, href, id, label) => {
    const record = recordOf(el, tag, href, label);
    const last = guards.get(id);
    if (last !== undefined && last.record === record) return last.name;
    lastGuard += 1;
    const name = epoch + "." + lastGuard;
    guards.delete(id);
    guards.set(id, { name, record });
    if (guards.size > GUARDS_MOST) guards.delete(guards.keys().next().value);
    return name;
  };
