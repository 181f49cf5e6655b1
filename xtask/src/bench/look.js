// Everything a reader of pages needs at least: address, title, text, links.
(() => JSON.stringify({
  url: location.href,
  title: document.title,
  text: document.body.innerText,
  links: [...document.links].map((a) => [a.href, a.innerText]),
}))()
