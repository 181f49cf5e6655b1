// The least that a click is: the first link clicks itself.
document.links[0].click()
