// In charge of the library for pictures: loaded with the first of them, and told to remember none. No two are of the same bytes, and it
// would hold up to 50 MB of what it made of them.
import type sharp from 'sharp';

export async function loadSharp(): Promise<typeof sharp> {
  const { default: library } = await import('sharp');
  library.cache(false);
  return library;
}
