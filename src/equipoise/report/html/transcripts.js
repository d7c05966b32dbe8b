"use strict";
(() => {
  // All text is set as text. The policy of the page refuses markup that is made from text.
  const PAGE = 50;
  const EXCERPT = 240;
  const byId = (id) => document.getElementById(id);
  const element = byId("data");
  const data = JSON.parse(element.textContent);
  element.remove();

  const make = (tag, properties, ...children) => {
    const made = Object.assign(document.createElement(tag), properties);
    made.append(...children);
    return made;
  };

  // One row per answer, with all that it can be filtered by.
  const FIRST = ["probe", "label", "status", "repetition"];
  const rows = data.flatMap((probe) =>
    probe.answers.map((answer) => {
      const prompt = probe.prompts[answer.prompt];
      const { label, status, repetition } = answer;
      return { probe, prompt, answer, facts: { probe: probe.name, label, status, repetition, ...prompt.facts } };
    }),
  );
  const covariates = new Set(data.flatMap((probe) => probe.prompts.flatMap((prompt) => Object.keys(prompt.facts))));
  const inOrder = (a, b) => a - b || (a < b ? -1 : 1); // numbers by their size, then texts
  const fields = [...FIRST, ...covariates].map((name, place) => ({
    name,
    isCovariate: place >= FIRST.length,
    values: [...new Set(rows.map((row) => row.facts[name]))].filter((value) => value !== undefined).sort(inOrder),
    probes: data.filter((probe) => place < FIRST.length || probe.prompts.some((prompt) => name in prompt.facts)),
    chosen: null,
    counts: new Map(),
  }));

  const state = { query: "", scope: "both", page: 0, found: [] };

  // A text is a list of pieces: strings, and pairs of a class and a string.
  const plain = (pieces) => pieces.map((piece) => (typeof piece === "string" ? piece : piece[1])).join("");

  // Searching

  const lower = (part) => (part.lowered ??= part.text ? plain(part.text).toLowerCase() : "");
  const search = () => {
    const query = state.query.trim().toLowerCase();
    for (const row of rows)
      row.matches =
        !query ||
        (state.scope !== "prompts" && lower(row.answer).includes(query)) ||
        (state.scope !== "answers" && lower(row.prompt).includes(query));
  };

  // Filtering: each field counts what would be left with its own filter open.

  const filter = () => {
    const active = fields.filter((field) => field.chosen !== null);
    for (const field of fields) field.counts.clear();
    state.found = [];
    for (const row of rows) {
      if (!row.matches) continue;
      const missed = active.filter((field) => row.facts[field.name] !== field.chosen);
      if (missed.length > 1) continue;
      for (const field of missed.length ? missed : fields) {
        const value = row.facts[field.name];
        field.counts.set(value, (field.counts.get(value) || 0) + 1);
      }
      if (!missed.length) state.found.push(row);
    }
  };

  // Drawing

  const number = (value) => value.toLocaleString("en");
  const chosenProbe = () => data.find((probe) => probe.name === fields[0].chosen);
  const isOffered = (field) => {
    const most = field.values.some((value) => value % 1) ? 12 : 500; // of fractions, few
    if (field.values.length < 2 || field.values.length > most) return false;
    const probe = chosenProbe();
    return probe ? field.probes.includes(probe) : field.probes.length === data.length;
  };

  const drawFilters = () => {
    const box = byId("filters");
    const focused = document.activeElement && document.activeElement.id;
    const shown = fields.filter(isOffered).map((field) => {
      const place = fields.indexOf(field);
      const option = (value, text) => make("option", { value, textContent: text });
      const options = field.values
        .filter((value) => field.counts.get(value) || value === field.chosen)
        .map((value) => option(value, `${value} (${number(field.counts.get(value) || 0)})`));
      const select = make(
        "select",
        { id: `filter-${place}`, name: field.name, className: field.chosen === null ? "" : "chosen" },
        make("option", { textContent: "any" }),
        ...options,
      );
      if (field.chosen !== null) select.selectedIndex = 1 + options.findIndex((each) => each.value === field.chosen);
      select.addEventListener("change", () => {
        field.chosen = select.selectedIndex ? select.value : null;
        if (place === 0) for (const other of fields) if (!isOffered(other)) other.chosen = null;
        update();
      });
      return make("div", {}, make("label", { htmlFor: select.id, textContent: field.name.replaceAll("_", " ") }), select);
    });
    const more = !chosenProbe() && fields.some((field) => field.isCovariate && !isOffered(field));
    if (more) shown.push(make("p", { className: "hint", textContent: "Choose a probe to filter by what it varies." }));
    box.replaceChildren(...shown);
    if (focused && focused.startsWith("filter-")) byId(focused)?.focus();
  };

  const drawPiece = (piece) => {
    if (typeof piece === "string") return piece;
    const [className, textContent] = piece;
    return make(className.startsWith("group-") ? "mark" : "span", { className, textContent });
  };
  const draw = (pieces) => make("bdi", {}, ...pieces.map(drawPiece));
  const withoutReasoning = (pieces) => plain(pieces.filter((piece) => piece[0] !== "reasoning"));

  const excerptOf = (text) => {
    const query = state.query.trim().toLowerCase();
    const place = query && state.scope !== "prompts" ? text.toLowerCase().indexOf(query) : -1;
    const start = place > 60 ? text.lastIndexOf(" ", place - 40) + 1 : 0;
    return (start ? "… " : "") + text.slice(start, start + EXCERPT).replace(/\s+/g, " ");
  };

  const fact = (name, value) =>
    make("span", {}, make("span", { className: "name", textContent: name }), make("bdi", { textContent: value }));

  const drawBody = ({ prompt, answer }) => {
    const list = make("dl", {});
    const add = (title, className, content) =>
      list.append(make("dt", { textContent: title }), make("dd", { className }, content));
    if (prompt.system) add("System", "text", draw(prompt.system));
    add("Prompt", "text prompt", draw(prompt.text));
    if (answer.text) add("Answer", "text reply", draw(answer.text));
    if (answer.detail) add("Why there is no answer", "text detail", make("bdi", { textContent: answer.detail }));
    const given = make("dd", { className: "given" }, fact("read as", answer.read));
    for (const [name, value] of Object.entries(prompt.facts)) given.append(fact(name.replaceAll("_", " "), value));
    given.append(
      fact("item", prompt.item),
      fact("repetition", answer.repetition),
      fact("status", answer.status),
      fact("prompt id", prompt.id),
    );
    list.append(make("dt", { textContent: "What is known" }), given);
    return list;
  };

  const drawAnswer = (row) => {
    const { answer, probe } = row;
    const isRead = answer.label !== "undetected" && answer.label !== "no answer";
    const text = answer.text ? withoutReasoning(answer.text) : answer.detail;
    const outcome = answer.label === "counted" ? answer.read : answer.label;
    const summary = make(
      "summary",
      {},
      make("span", { className: isRead ? "outcome" : "outcome nothing", textContent: outcome }),
      make("span", { className: "excerpt" }, make("bdi", { textContent: excerptOf(text) })),
    );
    if (answer.status !== "ok") summary.append(make("span", { className: "reason", textContent: answer.status }));
    if (data.length > 1 && !chosenProbe())
      summary.append(make("span", { className: "reason", textContent: probe.name }));
    const details = make("details", { className: "answer" }, summary);
    details.addEventListener("toggle", () => {
      if (details.open && details.childElementCount === 1) details.append(drawBody(row));
      highlight();
    });
    return make("li", {}, details);
  };

  // Where the search found something. Browsers without highlights show the same without them.
  const highlight = () => {
    if (!window.Highlight || !CSS.highlights) return;
    CSS.highlights.delete("found");
    const query = state.query.trim().toLowerCase();
    if (!query) return;
    const ranges = [];
    for (const box of byId("list").querySelectorAll(".excerpt, .reply, .prompt")) {
      const walker = document.createTreeWalker(box, NodeFilter.SHOW_TEXT);
      const nodes = [];
      for (let length = 0; walker.nextNode(); length += walker.currentNode.length) nodes.push([walker.currentNode, length]);
      const text = box.textContent.toLowerCase();
      const at = (place) => {
        const [node, start] = nodes.findLast(([, first]) => first <= place);
        return [node, Math.min(place - start, node.length)];
      };
      for (let place = text.indexOf(query); place >= 0; place = text.indexOf(query, place + query.length)) {
        const range = new Range();
        range.setStart(...at(place));
        const [node, offset] = at(place + query.length - 1);
        range.setEnd(node, Math.min(offset + 1, node.length));
        ranges.push(range);
      }
    }
    CSS.highlights.set("found", new Highlight(...ranges));
  };

  const lastPage = () => Math.max(0, Math.ceil(state.found.length / PAGE) - 1);

  const drawList = () => {
    state.page = Math.min(state.page, lastPage());
    const first = state.page * PAGE;
    const shown = state.found.slice(first, first + PAGE);
    byId("list").replaceChildren(...shown.map(drawAnswer));
    const all = rows.length;
    byId("count").textContent =
      state.found.length === all
        ? `${number(all)} ${all === 1 ? "answer" : "answers"}`
        : `${number(state.found.length)} of ${number(all)} answers`;
    byId("pages").hidden = lastPage() === 0;
    byId("page").textContent = `${number(first + 1)}–${number(first + shown.length)} of ${number(state.found.length)}`;
    byId("previous").disabled = state.page === 0;
    byId("next").disabled = state.page === lastPage();
    byId("reset").hidden = !state.query && fields.every((field) => field.chosen === null);
    byId("toggle").textContent = "Open all on this page";
    byId("toggle").hidden = !shown.length;
    highlight();
  };

  const drawLegend = () => {
    const groups = (data.length === 1 ? data[0] : chosenProbe())?.groups || [];
    const words = groups.flatMap((group, place) => [
      place ? ", " : "Underlined in answers: words that were read as ",
      make("mark", { className: `group-${place}`, textContent: group }),
    ]);
    const start = words.length ? [...words, ". "] : ["Underlined in answers: words that were read. "];
    byId("legend").replaceChildren(
      ...start,
      "Reasoning is grey, because it is not read. Invisible characters are shown by their number, like ",
      make("span", { className: "unseen", textContent: "U+200B" }),
      ".",
    );
  };

  // What is chosen stands in the address, so that a view can be kept as a bookmark.

  const remember = () => {
    const kept = new URLSearchParams();
    if (state.query) kept.set("search", state.query);
    if (state.scope !== "both") kept.set("in", state.scope);
    for (const field of fields) if (field.chosen !== null) kept.set(`.${field.name}`, field.chosen);
    if (state.page) kept.set("page", state.page + 1);
    history.replaceState(null, "", `#${kept}`);
  };
  const recall = () => {
    const kept = new URLSearchParams(location.hash.slice(1));
    state.query = kept.get("search") || "";
    state.scope = ["answers", "prompts"].find((scope) => scope === kept.get("in")) || "both";
    for (const field of fields) field.chosen = field.values.find((value) => value === kept.get(`.${field.name}`)) ?? null;
    for (const field of fields) if (!isOffered(field)) field.chosen = null;
    state.page = Math.max(0, (Number.parseInt(kept.get("page"), 10) || 1) - 1);
    byId("search").value = state.query;
    byId("scope").value = state.scope;
  };

  const update = (page = 0) => {
    state.page = page;
    search();
    filter();
    drawFilters();
    drawLegend();
    drawList();
    remember();
  };
  const turn = (pages) => {
    const page = state.page + pages;
    if (page < 0 || page > lastPage()) return false;
    state.page = page;
    drawList();
    remember();
    byId("answers").scrollIntoView();
    return true;
  };

  // Listening

  let waiting = 0;
  byId("search").addEventListener("input", (event) => {
    clearTimeout(waiting);
    waiting = setTimeout(() => {
      state.query = event.target.value;
      update();
    }, 120);
  });
  byId("scope").addEventListener("change", (event) => {
    state.scope = event.target.value;
    update();
  });
  byId("controls").addEventListener("submit", (event) => event.preventDefault());
  byId("previous").addEventListener("click", () => turn(-1));
  byId("next").addEventListener("click", () => turn(1));
  byId("reset").addEventListener("click", () => {
    for (const field of fields) field.chosen = null;
    state.query = byId("search").value = "";
    update();
    byId("search").focus();
  });
  byId("toggle").addEventListener("click", () => {
    const answers = [...byId("list").querySelectorAll("details")];
    const open = !answers.every((answer) => answer.open);
    for (const answer of answers) answer.open = open;
    byId("toggle").textContent = open ? "Close all on this page" : "Open all on this page";
  });
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const typing = ["INPUT", "SELECT"].includes(event.target.tagName);
    if (event.key === "/" && !typing) {
      byId("search").focus();
      event.preventDefault();
    } else if (["ArrowDown", "ArrowUp"].includes(event.key) && event.target.tagName !== "SELECT") {
      const summaries = [...byId("list").querySelectorAll("summary")];
      const here = summaries.indexOf(document.activeElement);
      if (here < 0 && event.key === "ArrowUp") return;
      const there = event.key === "ArrowDown" ? here + 1 : here - 1;
      if (there < 0) byId("search").focus();
      else summaries[there]?.focus();
      event.preventDefault();
    } else if (["ArrowLeft", "ArrowRight"].includes(event.key) && !typing) {
      if (turn(event.key === "ArrowRight" ? 1 : -1)) byId("list").querySelector("summary")?.focus();
    }
  });
  window.addEventListener("hashchange", () => {
    if (location.hash && !location.hash.includes("=")) return; // a link inside the page
    recall();
    update(state.page);
  });

  byId("controls").hidden = byId("answers").hidden = false;
  recall();
  update(state.page);
})();
