// Parts of the picture at native pixels, asked of the server one at a time and kept while its picture is looked at.

const TILE = 256;
const TOGETHER = 4; // pixels of a tile, and tiles per side of one answer
const HELD = 256; // tiles kept: 64 MB of pixels

// Tiles are laid from `origin` outwards, so that one answer fills the first view around it.
export function openTiles(scene, origin, host, changed) {
  const held = new Map(); // "i,j" -> { image, box }
  let pending = null;
  let sentence = "";
  let open = true;
  const span = (axis, from, to) => [
    Math.floor((from - origin[axis]) / TILE),
    Math.ceil((to - origin[axis]) / TILE) - 1,
  ];
  const limits = [scene.width, scene.height];
  const edge = (axis, index) => Math.min(Math.max(origin[axis] + index * TILE, 0), limits[axis]);
  const inside = (from, to, limit) => [Math.max(0, from), Math.min(limit, to)];

  // Tiles that show part of a view, by row and column.
  function seen([x0, y0, x1, y1]) {
    const [i0, i1] = span(0, ...inside(x0, x1, limits[0]));
    const [j0, j1] = span(1, ...inside(y0, y1, limits[1]));
    return { i0, i1, j0, j1 };
  }

  // The first missing tile of a view and those beside it that fit into the same answer, or null.
  function findMissing(view) {
    const { i0, i1, j0, j1 } = seen(view);
    for (let j = j0; j <= j1; j++)
      for (let i = i0; i <= i1; i++) {
        if (!held.has(`${i},${j}`))
          return { i0: i, j0: j, i1: Math.min(i1, i + TOGETHER - 1), j1: Math.min(j1, j + TOGETHER - 1) };
      }
    return null;
  }

  // Asks for what a view lacks; what is under way is waited for first.
  function want(view) {
    const block = pending === null ? findMissing(view) : null;
    if (!block) return;
    const box = [edge(0, block.i0), edge(1, block.j0), edge(0, block.i1 + 1), edge(1, block.j1 + 1)];
    pending = { ...block, box };
    fill(pending);
  }

  function end(problem) {
    [pending, sentence] = [null, problem];
    changed();
  }

  async function fill(block) {
    const image = new Image();
    try {
      image.src = (await host.call("zoom", { scene: scene.scene, box: block.box })).image;
      await image.decode();
    } catch (problem) {
      if (open) end(problem.message);
      return;
    }
    if (!open) return;
    for (let j = block.j0; j <= block.j1; j++)
      for (let i = block.i0; i <= block.i1; i++) {
        held.delete(`${i},${j}`);
        held.set(`${i},${j}`, { image, box: block.box });
      }
    for (const key of held.keys()) if (held.size > HELD) held.delete(key);
    end("");
  }

  return {
    want,
    busy: () => pending !== null,
    sentence: () => sentence,
    complete: view => findMissing(view) === null,
    shown: view => {
      const { i0, i1, j0, j1 } = seen(view);
      const found = new Set();
      for (let j = j0; j <= j1; j++)
        for (let i = i0; i <= i1; i++) if (held.has(`${i},${j}`)) found.add(held.get(`${i},${j}`));
      return found;
    },
    close: () => {
      open = false;
    },
  };
}
