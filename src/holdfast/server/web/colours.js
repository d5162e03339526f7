// Runs before the page is painted, so that it never flashes in the wrong colours or moves its rows.
try {
  const chosen = localStorage.getItem("holdfast.colours");
  if (chosen) document.documentElement.dataset.colours = chosen;
  if (localStorage.getItem("holdfast.rows") === "dense") document.documentElement.dataset.rows = "dense";
} catch {
  // A browser that keeps nothing follows its system.
}
