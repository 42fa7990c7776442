// Keeps the page as it would be if it were loaded now: the proxy tells when
// something changed, and only then is the page asked for again. Without scripts,
// and without the stream, the page is as it was when it was loaded.
"use strict";

// adopt makes one element like another. Elements that stay the same stay where
// they are, so that focus, selection, scrolling and what was typed or opened stay
// as well. Elements of a list are told apart by data-key.
function adopt(old, now) {
  if (old.isEqualNode(now)) return;
  for (const { name } of [...old.attributes]) {
    if (!now.hasAttribute(name) && !(name === "open" && old.tagName === "DETAILS")) old.removeAttribute(name);
  }
  for (const { name, value } of now.attributes) {
    if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  }
  const keyed = new Map();
  for (const child of old.children) if (child.dataset.key) keyed.set(child.dataset.key, child);
  const before = keyed.size;
  let at = old.firstChild;
  for (const next of [...now.childNodes]) {
    const key = next.dataset && next.dataset.key;
    let same = key ? keyed.get(key) : at;
    if (same && same !== at) old.insertBefore(same, at);
    if (same && same.nodeName === next.nodeName && same.id === next.id && (same.dataset && same.dataset.key || "") === (key || "")) {
      if (same.nodeType === Node.ELEMENT_NODE) adopt(same, next);
      else if (same.nodeValue !== next.nodeValue) same.nodeValue = next.nodeValue;
      at = same.nextSibling;
      continue;
    }
    const added = document.importNode(next, true);
    if (key && before && old.matches(".news")) added.classList.add("fresh");
    old.insertBefore(added, at);
  }
  while (at) {
    const next = at.nextSibling;
    at.remove();
    at = next;
  }
}

let late = false; // something changed while nobody looked
let asking = false;

async function refresh() {
  late = true;
  if (asking || document.hidden) return;
  asking = true;
  try {
    while (late) {
      late = false;
      const answer = await fetch(location.pathname + location.search, { headers: { Accept: "text/html" } });
      if (!answer.ok) return;
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      for (const id of ["company", "main"]) {
        const old = document.getElementById(id), now = page.getElementById(id);
        if (old && now) adopt(old, now);
      }
    }
  } catch {
    late = true; // the stream tells when the proxy is back
  } finally {
    asking = false;
  }
}

// The text of an item does not change, and its frame must not be loaded again.
if (!document.querySelector("iframe")) {
  const stream = new EventSource("/api/v1/events");
  const lost = document.getElementById("lost");
  let was = false;
  stream.onopen = () => {
    lost.hidden = true;
    document.documentElement.dataset.live = "yes";
    if (was) refresh(); // who knows what happened meanwhile
    was = true;
  };
  stream.onerror = () => {
    lost.hidden = !was || stream.readyState === EventSource.CLOSED;
    document.documentElement.dataset.live = "no";
  };
  stream.addEventListener("change", refresh);
  document.addEventListener("visibilitychange", () => { if (late) refresh(); });
  addEventListener("pagehide", () => stream.close()); // or the page kept for going back holds a connection
  addEventListener("pageshow", (e) => { if (e.persisted) location.reload(); });
}

// A list of feeds can be dropped anywhere.
const list = document.getElementById("import");
if (list) {
  const file = document.getElementById("file");
  const files = (e) => e.dataTransfer && [...e.dataTransfer.types].includes("Files");
  addEventListener("dragover", (e) => {
    if (!files(e)) return;
    e.preventDefault();
    document.documentElement.classList.add("dropping");
  });
  addEventListener("dragleave", (e) => { if (!e.relatedTarget) document.documentElement.classList.remove("dropping"); });
  addEventListener("drop", (e) => {
    if (!files(e)) return;
    e.preventDefault();
    document.documentElement.classList.remove("dropping");
    if (e.dataTransfer.files.length === 0) return;
    file.files = e.dataTransfer.files;
    list.requestSubmit();
  });
}
