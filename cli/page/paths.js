// Sampled call paths as a tree: built from an answer, looked up by their names, and the time
// between two answers.

/** @typedef {import('./answers').ProfileReply} ProfileReply */
/** @typedef {import('./answers').ProfileLine} Line */
/**
 * @typedef {object} FunctionTime
 * @property {string} function
 * @property {string} module
 * @property {number} own_ns
 * @property {number} ns
 * @property {[string, number][]} lines those with the most time first
 *
 * @typedef {ProfileReply & {functions: FunctionTime[], text: string, notes: string[]}} Profile
 *   with what the terminal says of it
 *
 * @typedef {'program' | 'mpi' | 'library' | 'kernel' | 'other'} Sort where a function is from
 *
 * @typedef {object} Path a function below the same callers
 * @property {string} name
 * @property {string} module
 * @property {Sort} sort
 * @property {number} ns
 * @property {number} own_ns
 * @property {number} most_rank
 * @property {number} most_ns
 * @property {Line[]} lines
 * @property {Path | null} caller
 * @property {Path[]} callees by their names, so that none moves when its time changes
 * @property {number} depth
 * @property {number} from where it begins in the time of the outermost, in ns
 */

const MPI = ['libmpi', 'libfmpich', 'libinvivo_shim'];

/** @param {string} kind @param {string} module @returns {Sort} */
function sortOf(kind, module) {
  if (kind === 'lost' || kind === 'left out' || !module) return 'other';
  if (module.startsWith('[')) return 'kernel';
  if (module === 'MPI' || MPI.some((name) => module.includes(name))) return 'mpi';
  return /\.so(\.|$)/.test(module) ? 'library' : 'program';
}

/** As the terminal calls it. @param {import('./answers').ProfileNode} node */
function nameOf({ kind, function: name, module }) {
  if (kind === 'lost') return '(callers that are not known)';
  if (kind === 'left out') return '(...)';
  return name || module || '(code in no file)';
}

/** The outermost of a tree: all time that was sampled. @param {number} ns @returns {Path} */
const outermost = (ns) => ({
  name: 'all',
  module: '',
  sort: 'other',
  ns,
  own_ns: 0,
  most_rank: 0,
  most_ns: 0,
  lines: [],
  caller: null,
  callees: [],
  depth: 0,
  from: 0,
});

/** Puts callees beside each other, below their callers. @param {Path} path */
function place(path) {
  path.callees.sort((one, other) => (one.name < other.name ? -1 : one.name > other.name ? 1 : 0));
  let { from } = path;
  for (const callee of path.callees) {
    [callee.from, callee.depth] = [from, path.depth + 1];
    from += callee.ns;
    place(callee);
  }
}

/** The tree of an answer. @param {ProfileReply} reply @returns {Path} */
export function tree({ nodes, cpu_ns }) {
  const outer = nodes.reduce((sum, { depth, ns }) => sum + (depth === 0 ? ns : 0), 0);
  const root = outermost(Math.max(cpu_ns, outer));
  const callers = [root];
  for (const node of nodes) {
    const caller = callers[node.depth];
    /** @type {Path} */
    const path = {
      ...outermost(node.ns),
      name: nameOf(node),
      module: node.module,
      sort: sortOf(node.kind, node.module),
      own_ns: node.own_ns,
      most_rank: node.most_rank,
      most_ns: node.most_ns,
      lines: node.lines,
      caller,
    };
    caller.callees.push(path);
    callers.length = node.depth + 1;
    callers.push(path);
  }
  place(root);
  return root;
}

/** @param {Path} one @param {Path} other */
const isSame = (one, other) => one.name === other.name && one.module === other.module;

/** A path and its callers, the outermost first. @param {Path} path */
export function callers(path) {
  const all = [path];
  while (all[0].caller) all.unshift(all[0].caller);
  return all;
}

/** The same path of another tree, or of its callers the innermost that is there.
 * @param {Path} root @param {Path} path */
export function again(root, path) {
  return callers(path)
    .slice(1)
    .reduce(
      ({ at, isLost }, one) => {
        const found = isLost ? undefined : at.callees.find((callee) => isSame(callee, one));
        return { at: found ?? at, isLost: !found };
      },
      { at: root, isLost: false },
    ).at;
}

/** All of them, callers before their callees. @param {Path} path @returns {Generator<Path>} */
export function* below(path) {
  yield path;
  for (const callee of path.callees) yield* below(callee);
}

/** What came to a tree since an earlier one. @param {Path} now @param {Path | undefined} before
 * @param {Path | null} [caller] @returns {Path} */
function lessen(now, before, caller = null) {
  /** @type {Path} */
  const path = {
    ...now,
    ns: Math.max(now.ns - (before?.ns ?? 0), 0),
    own_ns: Math.max(now.own_ns - (before?.own_ns ?? 0), 0),
    // Who has the most of all need not have the most of the difference.
    most_ns: 0,
    lines: now.lines
      .map(({ text, ns }) => ({
        text,
        ns: ns - (before?.lines.find((line) => line.text === text)?.ns ?? 0),
      }))
      .filter(({ ns }) => ns > 0)
      .sort((one, other) => other.ns - one.ns),
    caller,
  };
  path.callees = now.callees
    .map((callee) =>
      lessen(
        callee,
        before?.callees.find((one) => isSame(one, callee)),
        path,
      ),
    )
    .filter((callee) => callee.ns > 0);
  // With few samples what is left out of one answer alone can be more than its caller.
  const inside = path.callees.reduce((sum, { ns }) => sum + ns, 0);
  path.ns = Math.max(path.ns, inside);
  return path;
}

/** The time between two answers. @param {Path} before @param {Path} now */
export function between(before, now) {
  const root = lessen(now, before);
  place(root);
  return root;
}

/** Time by function, those with the most of their own first, as the server counts it.
 * @param {Path} root @returns {FunctionTime[]} */
export function functionsOf(root) {
  /** @type {Map<string, FunctionTime>} */
  const all = new Map();
  for (const path of below(root)) {
    if (!path.caller) continue;
    const { name, module } = path;
    const key = `${module}\n${name}`;
    const of = all.get(key) ?? { function: name, module, own_ns: 0, ns: 0, lines: [] };
    all.set(key, of);
    of.own_ns += path.own_ns;
    // Of a recursion the outermost has the time of all.
    if (callers(path.caller).some((caller) => isSame(caller, path))) continue;
    of.ns += path.ns;
    for (const { text, ns } of path.lines) {
      const line = of.lines.find(([known]) => known === text);
      if (line) line[1] += ns;
      else of.lines.push([text, ns]);
    }
  }
  for (const { lines } of all.values()) lines.sort((one, other) => other[1] - one[1]);
  return [...all.values()].sort((one, other) => other.own_ns - one.own_ns || other.ns - one.ns);
}
