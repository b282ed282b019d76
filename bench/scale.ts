import type { Bench } from './bench.ts';
export async function benchScale(_bench: Bench, _schools: number): Promise<void> {}
