// One call into the world: the way in from outside, for the document that is meant only. It may run
// in a context that is not ours, for contexts are numbered and the number may be a page's by now.
// So until the world is found it uses syntax only: no name or function that a page can exchange. A
// page that does not know the key sees nothing of it, for the prototypes of a window can't be exchanged.
function (method, options) {
  "use strict";
  const world = this.__JEV_WORLD_KEY__;
  if (world === undefined || world.document !== document) return "missing";
  return world[method](options);
}
