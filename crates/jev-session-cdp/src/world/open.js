// The beginning of the world: one function scope for all files, entered once per document.
(() => {
  "use strict";
  // Replaced by a name that no page can know; an own property of this world's global only.
  const KEY = "__JEV_WORLD_KEY__";
  const known = Object.getOwnPropertyDescriptor(globalThis, KEY);
  if (known !== undefined && known.value.document === document) return;
