// Takes peer connections away from a page, in its own world, before its first script.
for (const name of ['RTCPeerConnection', 'webkitRTCPeerConnection']) {
  delete globalThis[name];
}
