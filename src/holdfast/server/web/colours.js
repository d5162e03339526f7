// Runs before the page is painted, so that it never flashes in the wrong colours.
try {
  const chosen = localStorage.getItem("holdfast.colours");
  if (chosen) document.documentElement.dataset.colours = chosen;
} catch {
  // A browser that keeps nothing follows its system.
}
