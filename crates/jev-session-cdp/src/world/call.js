// One call into the world: the way in from outside, for the document that is meant only.
function (key, method, options) {
  const known = Object.getOwnPropertyDescriptor(globalThis, key);
  if (known === undefined || known.value.document !== document) return "missing";
  return known.value[method](options);
}
