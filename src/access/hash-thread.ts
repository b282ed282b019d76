// In charge of one thread that hashes: argon2id, one at a time, where nothing else has to wait for it.
import { argon2Sync } from 'node:crypto';
import { parentPort } from 'node:worker_threads';

export type HashTask = { message: string; nonce: Uint8Array; memory: number; passes: number; parallelism: number; tagLength: number };

parentPort?.on('message', (task: HashTask) => parentPort?.postMessage(argon2Sync('argon2id', task)));
