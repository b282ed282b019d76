// In charge of the metrics listener: Prometheus text, on a port of its own that the public does not see.
import { createServer, type Server } from 'node:http';
import { once } from 'node:events';
import type { Distribution } from '../histogram.ts';

type Labels = Readonly<Record<string, string>>;
type Described = { name: string; help: string };
export type Simple = Described & { type: 'gauge' | 'counter'; values: readonly { labels: Labels; value: number }[] };
export type Spread = Described & { type: 'histogram'; values: readonly { labels: Labels; value: Distribution }[] };
export type Metric = Simple | Spread;

export async function listenForMetrics(host: string, port: number, measure: () => Promise<readonly Metric[]>): Promise<Server> {
  const server = createServer((request, response) => {
    if (request.url?.split('?', 1)[0] !== '/metrics' || request.method !== 'GET') {
      response.writeHead(404, { 'content-type': 'text/plain; charset=utf-8' }).end('GET /metrics\n');
      return;
    }
    measure().then(
      (metrics) => response.writeHead(200, { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' }).end(metrics.map(renderMetric).join('')),
      () => response.writeHead(500, { 'content-type': 'text/plain; charset=utf-8' }).end('the metrics could not be measured\n'),
    );
  });
  server.listen(port, host);
  await once(server, 'listening');
  return server;
}

/** One that stands by itself. */
export function gauge(name: string, help: string, value: number): Metric {
  return { name, help, type: 'gauge', values: [{ labels: {}, value }] };
}

export function renderMetric(metric: Metric): string {
  const { name, help, type } = metric;
  const lines = metric.type === 'histogram' ? metric.values.flatMap(({ labels, value }) => renderSpread(name, labels, value))
    : metric.values.map(({ labels, value }) => renderLine(name, labels, value));
  return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${lines.join('')}`;
}

function renderSpread(name: string, labels: Labels, { bounds, counts, sum }: Distribution): string[] {
  let upTo = 0;
  const buckets = counts.map((count, place) => {
    upTo += count;
    return renderLine(`${name}_bucket`, { ...labels, le: place < bounds.length ? String(bounds[place]) : '+Inf' }, upTo);
  });
  return [...buckets, renderLine(`${name}_sum`, labels, sum), renderLine(`${name}_count`, labels, upTo)];
}

function renderLine(name: string, labels: Labels, value: number): string {
  const rendered = Object.entries(labels).map(
    ([label, text]) => `${label}="${text.replace(/[\\"\n]/g, (character) => (character === '\n' ? '\\n' : `\\${character}`))}"`,
  );
  return `${name}${rendered.length > 0 ? `{${rendered.join(',')}}` : ''} ${value}\n`;
}
