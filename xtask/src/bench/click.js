document.links[0].click()
