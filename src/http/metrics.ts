// In charge of the metrics listener: Prometheus text, on a port of its own that the public does not see.
import { createServer, type Server } from 'node:http';
import { once } from 'node:events';

export type Metric = { name: string; help: string; type: 'gauge' | 'counter'; values: readonly { labels: Readonly<Record<string, string>>; value: number }[] };

export async function listenForMetrics(host: string, port: number, collect: () => Promise<readonly Metric[]>): Promise<Server> {
  const server = createServer((request, response) => {
    if (request.url?.split('?', 1)[0] !== '/metrics' || request.method !== 'GET') {
      response.writeHead(404, { 'content-type': 'text/plain; charset=utf-8' }).end('GET /metrics\n');
      return;
    }
    collect().then(
      (metrics) => response.writeHead(200, { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' }).end(metrics.map(renderMetric).join('')),
      () => response.writeHead(503, { 'content-type': 'text/plain; charset=utf-8' }).end('the database does not answer\n'),
    );
  });
  server.listen(port, host);
  await once(server, 'listening');
  return server;
}

export function renderMetric({ name, help, type, values }: Metric): string {
  const lines = values.map(({ labels, value }) => {
    const rendered = Object.entries(labels).map(
      ([label, text]) => `${label}="${text.replace(/[\\"\n]/g, (character) => (character === '\n' ? '\\n' : `\\${character}`))}"`,
    );
    return `${name}${rendered.length > 0 ? `{${rendered.join(',')}}` : ''} ${value}\n`;
  });
  return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${lines.join('')}`;
}
