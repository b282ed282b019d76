// In charge of receivers to begin with, in three languages: each checks that a call comes from us before it believes it. A shell checks
// one call that was kept, the others are whole receivers.
import type { Samples } from './samples.ts';

const curl = `# A call that was kept: its three headers as variables, its body as it came in the file body (empty for a GET).
hex_key=$(printf %s "\${SIGNING_SECRET#whsec_}" | openssl base64 -d -A | od -An -v -tx1 | tr -d ' \\n')
expected=$({ printf '%s.%s.' "$WEBHOOK_ID" "$WEBHOOK_TIMESTAMP"; cat body; } |
  openssl dgst -sha256 -mac HMAC -macopt "hexkey:$hex_key" -binary | openssl base64 -A)
age=$(( $(date +%s) - WEBHOOK_TIMESTAMP ))
case " $WEBHOOK_SIGNATURE " in
  *" v1,$expected "*) [ "$age" -le 300 ] && [ "$age" -ge -300 ] && echo "right: $WEBHOOK_ID" && exit 0 ;;
esac
echo 'wrong, or too old' >&2
exit 1
`;

const typescript = `import { Buffer } from 'node:buffer';
import { createHmac, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import process from 'node:process';

/** Whether one of the secrets signed these bytes within the last five minutes; during a rotation there are two. */
function isOurs(headers: IncomingHttpHeaders, body: Buffer, secrets: readonly string[]): boolean {
  const [id, timestamp, signatures] = ['webhook-id', 'webhook-timestamp', 'webhook-signature'].map((name) => String(headers[name] ?? ''));
  if (!id || !timestamp || !signatures || !(Math.abs(Date.now() / 1000 - Number(timestamp)) <= 300)) return false;
  return secrets.some((secret) => {
    const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
    const expected = Buffer.from('v1,' + createHmac('sha256', key).update(\`\${id}.\${timestamp}.\`).update(body).digest('base64'));
    return key.length > 0 && signatures.split(' ').some((one) => one.length === expected.length && timingSafeEqual(Buffer.from(one), expected));
  });
}

const seen = new Set<string>(); // In your database, so that a repeat is known after a restart too.

createServer(async (request, response) => {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const body = Buffer.concat(chunks); // As it came: a parsed and rendered body has other bytes. Of a GET there is none.
  const id = String(request.headers['webhook-id']);
  if (!isOurs(request.headers, body, [process.env['SIGNING_SECRET'] ?? ''])) {
    response.writeHead(401).end();
    return;
  }
  if (!seen.has(id)) console.log(id, request.method, request.url, body.toString());
  seen.add(id);
  response.writeHead(204).end(); // At once; what takes longer is done afterwards.
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
    if not timestamp.isdigit() or abs(time.time() - int(timestamp)) > 300:
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
    def receive(self):
        # As it came: a parsed and rendered body has other bytes. Of a GET there is none.
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
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
