// In charge of putting a load on one address from a process of its own, for some seconds or of so many requests: prints the requests a second.
import autocannon from 'autocannon';
import { fillPath } from './fill-path.ts';

const [url = '', token = '', seconds = '5', amount] = process.argv.slice(2);
const result = await autocannon({
  url,
  connections: 16,
  ...(amount === undefined ? { duration: Number(seconds) } : { amount: Number(amount), pipelining: 4 }),
  headers: { authorization: `Bearer ${token}` },
  requests: [{ setupRequest: (request) => ({ ...request, path: fillPath(request.path ?? '') }) }],
});
if (result.non2xx > 0 || result.errors > 0) throw new Error(`${result.non2xx} answers other than 2xx, ${result.errors} errors`);
process.stdout.write(String(result.requests.average));
