// As look.js and click.js, in one evaluate.
(() => {
  const seen = JSON.stringify({
    url: location.href,
    title: document.title,
    text: document.body.innerText,
    links: [...document.links].map((a) => [a.href, a.innerText]),
  });
  document.links[0].click();
  return seen;
})()
