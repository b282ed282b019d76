// In charge of a bounded memory of answers: what was used last stays, up to a number of bytes.

export type Remembered<T> = { get(key: string): T | undefined; set(key: string, value: T, bytes: number): void; clear(): void };

export function createRemembered<T>(maxBytes: number): Remembered<T> {
  const entries = new Map<string, { value: T; bytes: number }>();
  let held = 0;
  return {
    get(key) {
      const entry = entries.get(key);
      if (!entry) return undefined;
      entries.delete(key);
      entries.set(key, entry);
      return entry.value;
    },
    set(key, value, bytes) {
      const size = bytes + key.length * 2;
      if (size > maxBytes / 16) return;
      held += size - (entries.get(key)?.bytes ?? 0);
      entries.delete(key);
      entries.set(key, { value, bytes: size });
      for (const [oldest, entry] of entries) {
        if (held <= maxBytes) break;
        entries.delete(oldest);
        held -= entry.bytes;
      }
    },
    clear() {
      entries.clear();
      held = 0;
    },
  };
}
