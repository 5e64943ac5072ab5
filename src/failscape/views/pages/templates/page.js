// Filters, sorting and "show more". Without it the whole page is simply there.
(() => {
  const all = (selector, from = document) => [...from.querySelectorAll(selector)];
  const small = innerWidth <= 760;
  const query = document.querySelector("#query");
  const group = document.querySelector("#group");
  const lists = all("[data-page]").map((box) => {
    const step = Math.ceil(Number(box.dataset.page) / (small ? 2 : 1));
    const more = document.createElement("button");
    more.className = "more";
    (box.closest(".scroll") || box).after(more);
    const list = { box, more, step, limit: step };
    more.addEventListener("click", () => { list.limit += list.step * 4; show(list); });
    return list;
  });
  const matches = (item) => {
    const words = query ? query.value.toLowerCase().split(/\s+/).filter(Boolean) : [];
    const inGroup = !group || !group.value || item.dataset.group === group.value;
    return inGroup && words.every((word) => item.dataset.text.includes(word));
  };
  const show = (list) => {
    let found = 0;
    for (const item of list.box.children) {
      const fits = matches(item);
      found += fits;
      item.hidden = !fits || found > list.limit;
    }
    list.more.hidden = found <= list.limit && found > 0;
    list.more.disabled = found === 0;
    list.more.textContent = found ? `Show more (${(found - list.limit).toLocaleString()} left)` : "Nothing here matches";
  };
  const refresh = () => lists.forEach((list) => { list.limit = list.step; show(list); });
  [query, group].forEach((control) => control && control.addEventListener("input", refresh));
  all("th[data-sort]").forEach((head) => {
    const button = document.createElement("button");
    button.textContent = head.textContent;
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") !== "descending";
      all("th[aria-sort]").forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const list = lists.find((one) => one.box.tagName === "TBODY");
      const key = head.dataset.sort;
      const value = (row) => (key === "text" ? row.dataset.text : Number(row.dataset[key]));
      const order = (a, b) => (value(a) < value(b) ? -1 : value(a) > value(b) ? 1 : 0) * (down ? -1 : 1);
      list.box.append(...[...list.box.children].sort(order));
      show(list);
    });
  });
  // A link to what is folded, or not shown yet, must still lead there.
  const reveal = () => {
    const part = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!part) return;
    const own = part.matches("details") ? part : part.querySelector(":scope > details.fold");
    for (let fold = own || part; fold; fold = fold.parentElement && fold.parentElement.closest("details")) {
      fold.hidden = false;
      fold.open = true;
    }
    part.scrollIntoView();
  };
  addEventListener("hashchange", reveal);
  addEventListener("beforeprint", () => all("details.reading, details.fold").forEach((part) => { part.open = true; }));
  // On a phone one card of each kind is open, and the others a touch away.
  const opened = new Set();
  if (small) all("details.card[open], details.panel[open]").forEach((part) => {
    const kind = `${part.parentElement.closest("section").id} ${part.className}`;
    part.open = !opened.has(kind);
    opened.add(kind);
  });
  refresh();
  reveal();
})();
