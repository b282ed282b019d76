// In charge of walking through a parse tree without knowing its kinds of nodes.

/** Calls the visitor with the name and the value of every property that holds a node; false: it does not go in there. */
export function visitNodes(node: unknown, visit: (kind: string, value: object) => boolean): void {
  if (typeof node !== 'object' || node === null) return;
  for (const [kind, value] of Object.entries(node)) {
    if (typeof value !== 'object' || value === null) continue;
    if (visit(kind, value)) visitNodes(value, visit);
  }
}
