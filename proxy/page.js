// Keeps the lower part of the page current. Without scripts the page is as it
// was when it was loaded.
"use strict";
async function refresh() {
  const old = document.getElementById("live");
  if (document.hidden || old.contains(document.activeElement) || getSelection().toString() !== "") return;
  const answer = await fetch("/", { headers: { Accept: "text/html" } });
  if (!answer.ok) return;
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const live = page.getElementById("live");
  if (live) old.replaceWith(live);
}
setInterval(() => refresh().catch(() => {}), 3000);
