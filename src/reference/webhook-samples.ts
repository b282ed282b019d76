// In charge of receivers to begin with, in three languages: each checks that a call comes from us before it believes it. A shell checks
// one call that was kept, the others are whole receivers.
import type { Samples } from './samples.ts';

/**
 * To be pasted: without comments, which some shells take for commands, and without an exit. The time is looked at last: in a call that
 * is not ours it may be anything, and some shells run what stands in a number.
 */
const curl = `check() {
  hex_key=$(printf %s "\${SIGNING_SECRET#whsec_}" | openssl base64 -d -A | od -An -v -tx1 | tr -d ' \\n')
  [ -n "$hex_key" ] || { echo 'SIGNING_SECRET is not set' >&2; return 1; }
  expected=$({ printf '%s.%s.' "$WEBHOOK_ID" "$WEBHOOK_TIMESTAMP"; cat body; } |
    openssl dgst -sha256 -mac HMAC -macopt "hexkey:$hex_key" -binary | openssl base64 -A)
  case " $WEBHOOK_SIGNATURE " in
    *" v1,$expected "*) ;;
    *) echo 'not ours' >&2; return 1 ;;
  esac
  age=$(( $(date +%s) - WEBHOOK_TIMESTAMP ))
  if [ "$age" -gt 300 ] || [ "$age" -lt -300 ]; then echo 'ours, but too old' >&2; return 1; fi
  echo "right: $WEBHOOK_ID"
}
check
`;

const typescript = `import { Buffer } from 'node:buffer';
import { createHmac, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import process from 'node:process';

/** Whether one of the secrets signed these bytes within the last five minutes; during a rotation there are two. */
function isOurs(headers: IncomingHttpHeaders, body: Buffer, secrets: readonly string[]): boolean {
  const [id, timestamp, signatures] = ['webhook-id', 'webhook-timestamp', 'webhook-signature'].map((name) => String(headers[name] ?? ''));
  if (!id || !timestamp || !signatures || !(Math.abs(Date.now() / 1000 - Number(timestamp)) <= 300)) return false;
  return secrets.some((secret) => {
    const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
    const expected = Buffer.from('v1,' + createHmac('sha256', key).update(\`\${id}.\${timestamp}.\`).update(body).digest('base64'));
    const isRight = (given: Buffer) => given.length === expected.length && timingSafeEqual(given, expected);
    return key.length > 0 && signatures.split(' ').some((one) => isRight(Buffer.from(one)));
  });
}

const seen = new Set<string>(); // In your database, so that a repeat is known after a restart too.

/** As it came: a parsed and rendered body has other bytes. Of a GET there is none. */
async function readBody(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request) {
    const bytes = chunk as Buffer;
    chunks.push(bytes);
    size += bytes.length;
    if (size > 4_194_304) throw new Error('larger than any call of ours');
  }
  return Buffer.concat(chunks);
}

async function receive(request: IncomingMessage): Promise<number> {
  const body = await readBody(request);
  if (!isOurs(request.headers, body, [process.env['SIGNING_SECRET'] ?? ''])) return 401;
  const id = String(request.headers['webhook-id']);
  if (!seen.has(id)) console.log(id, request.method, request.url, body.toString());
  seen.add(id);
  return 204; // At once; what takes longer is done afterwards.
}

createServer((request, response) => {
  receive(request).then(
    (status) => response.writeHead(status).end(),
    () => request.destroy(), // Whoever calls hung up, or sends too much.
  );
}).listen(Number(process.env['PORT'] ?? 8081));
`;

const python = `import base64
import hashlib
import hmac
import os
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

seen = set()  # In your database, so that a repeat is known after a restart too.


def is_ours(headers, body, secrets):
    """Whether one of the secrets signed these bytes within the last five minutes; during a rotation there are two."""
    id, timestamp = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    if not timestamp.isdecimal() or abs(time.time() - int(timestamp)) > 300:
        return False
    for secret in secrets:
        key = base64.b64decode(secret.removeprefix("whsec_"))
        signed = hmac.new(key, f"{id}.{timestamp}.".encode() + body, hashlib.sha256).digest()
        expected = "v1," + base64.b64encode(signed).decode()
        for given in headers.get("webhook-signature", "").split(" "):
            if key and hmac.compare_digest(given.encode(), expected.encode()):
                return True
    return False


class Receiver(BaseHTTPRequestHandler):
    timeout = 30  # seconds without a byte, after which whoever calls is let go

    def receive(self):
        # As it came: a parsed and rendered body has other bytes. Of a GET there is none, of ours none is larger than this.
        length = self.headers.get("content-length", "0")
        body = self.rfile.read(int(length)) if length.isdecimal() and int(length) <= 4_194_304 else b""
        if not is_ours(self.headers, body, [os.environ["SIGNING_SECRET"]]):
            self.send_response(401)
        else:
            if self.headers["webhook-id"] not in seen:
                print(self.headers["webhook-id"], self.command, self.path, body.decode(), flush=True)
            seen.add(self.headers["webhook-id"])
            self.send_response(204)  # At once; what takes longer is done afterwards.
        self.end_headers()

    do_GET = do_POST = receive

    def log_message(self, *parts):
        pass


ThreadingHTTPServer(("", int(os.environ.get("PORT", "8081"))), Receiver).serve_forever()
`;

export const receivers: Samples = { curl, typescript, python };
