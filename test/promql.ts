// In charge of reading the expressions of dashboards and alerts in tests, as far as names go: which metrics, which labels.

export type Matcher = { label: string; values: string[] };
export type Use = { metric: string; matchers: Matcher[] };
/** counted: metrics that are taken as counters; labels: those that the result is grouped by. */
export type Expression = { uses: Use[]; labels: string[]; counted: string[]; quantiles: number };

const grouping = /\b(?:by|on|ignoring|without|group_left|group_right)\s*\(([^)]*)\)/g;
const words: ReadonlySet<string> = new Set(['and', 'or', 'unless', 'bool', 'offset']);

export function readExpression(text: string): Expression {
  const labels = [...text.matchAll(grouping)].flatMap(([, list = '']) => list.split(',').map((label) => label.trim()));
  const bare = text.replaceAll(grouping, ' ').replaceAll(/\[[^\]]*\]/g, ' ').replaceAll(/\boffset\s+\w+/g, ' ');
  // A name that a parenthesis follows is a function; what stands in braces belongs to the metric before it.
  const uses = [...bare.matchAll(/\b([a-zA-Z_:][\w:]*)\b(?!\s*\()(\{[^}]*\})?/g)]
    .filter(([, name = '']) => !words.has(name))
    .map(([, metric = '', matchers = '']) => ({
      metric,
      matchers: [...matchers.matchAll(/(\w+)\s*(?:=~|!~|!=|=)\s*"([^"]*)"/g)].map(([, label = '', value = '']) => ({ label, values: value.split('|') })),
    }));
  const counted = [...text.matchAll(/\b(?:rate|increase)\(\s*(\w+)/g)].map(([, metric = '']) => metric);
  return { uses, labels, counted, quantiles: text.split('histogram_quantile(').length - 1 };
}

export function isBalanced(text: string): boolean {
  let open = 0;
  for (const character of text) {
    if (character === '(') open += 1;
    if (character === ')') open -= 1;
    if (open < 0) return false;
  }
  return open === 0;
}
