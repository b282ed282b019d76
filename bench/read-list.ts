// In charge of reading a whole list in a process of its own: prints how many bytes it had, and the seconds that it took.
import { request } from 'node:http';

const [url = '', token = '', encoding = 'identity'] = process.argv.slice(2);
const started = performance.now();
request(url, { headers: { authorization: `Bearer ${token}`, 'accept-encoding': encoding } }, (response) => {
  if (response.statusCode !== 200) throw new Error(`${url}: ${response.statusCode}`);
  let bytes = 0;
  response.on('data', (chunk: Buffer) => (bytes += chunk.length));
  response.once('end', () => {
    const length = response.headers['content-length'];
    if (length !== undefined && Number(length) !== bytes) throw new Error(`${bytes} bytes instead of ${length}`);
    process.stdout.write(JSON.stringify({ bytes, seconds: (performance.now() - started) / 1000, stated: length !== undefined }));
  });
}).end();
