  // What a reader never sees is taken out of strings: NUL and other controls, soft hyphens,
  // direction marks, and the plane that spells invisible letters. Joiners stay in text, for some
  // scripts need them, and go from labels.
  const UNSEEN =
    /[\u0000-\u0008\u000b\u000e-\u001f\u007f\u00ad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|[\ud800-\udfff]/;
  const UNSEEN_ALL =
    /[\u0000-\u0008\u000b\u000e-\u001f\u007f\u00ad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e0fff}]/gu;
  const JOINERS = /[\u200c\u200d\ufe00-\ufe0f]/g;
  const RUN = /[ \t\n\r\f\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+/g;

  const clean = (text) => (UNSEEN.test(text) ? text.toWellFormed().replace(UNSEEN_ALL, "") : text);

  /** At most `most` UTF-16 units, never half a pair. */
  const cut = (text, most) => (text.length <= most ? text : text.slice(0, most).toWellFormed());

  /** One line for a name: cleaned, white space collapsed, bounded. */
  const line = (text, most) =>
    cut(clean(cut(text, most * 8)).replace(JOINERS, "").replace(RUN, " ").trim(), most);
