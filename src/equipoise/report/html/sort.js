"use strict";
// Sorts the table of models by a column: nearest to even-handed first, and the other way round at a second click.
for (const table of document.querySelectorAll("table.matrix")) {
  const body = table.tBodies[0];
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "sort";
    button.setAttribute("aria-label", "Sort by " + head.textContent.trim().replace(/\s+/g, " "));
    head.append(button);
    button.addEventListener("click", () => {
      const falling = head.getAttribute("aria-sort") === "ascending";
      for (const other of heads) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", falling ? "descending" : "ascending");
      const key = row => row.cells[column].dataset.distance;
      const compare = (a, b) => column
        ? ((key(a) ?? "") === "") - ((key(b) ?? "") === "") || (falling ? key(b) - key(a) : key(a) - key(b))
        : (falling ? -1 : 1) * a.cells[0].textContent.localeCompare(b.cells[0].textContent);
      body.append(...[...body.rows].sort(compare));
    });
  });
}
