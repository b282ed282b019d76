// In charge of asking over one connection from a process of its own: told a path and how often, it says how long each answer took.
import { Agent, request } from 'node:http';
import { fillPath } from './fill-path.ts';
import type { Ask } from './one-connection.ts';

const agent = new Agent({ keepAlive: true, maxSockets: 1 });

process.on('message', async ({ url, tokens, path, times }: Ask) => {
  const taken: number[] = [];
  for (let at = 0; at < times; at += 1) {
    const asked = url + fillPath(path);
    const token = tokens[Math.floor(Math.random() * tokens.length)] ?? '';
    const started = performance.now();
    await answer(asked, token);
    taken.push(performance.now() - started);
  }
  process.send?.(taken);
});
process.on('disconnect', () => process.exit());

function answer(url: string, token: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { agent, headers: { authorization: `Bearer ${token}` } }, (response) => {
      if (response.statusCode !== 200) reject(new Error(`${url}: ${response.statusCode}`));
      response.resume().once('end', resolve).once('error', reject);
    });
    sent.once('error', reject).end();
  });
}
