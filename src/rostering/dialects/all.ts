// In charge of the list of dialects.
import type { Dialect } from './dialect.ts';
import { oneRoster12 } from './oneroster-1p2.ts';
import { variantA } from './variant-a.ts';
import { variantB } from './variant-b.ts';

export const dialects: readonly Dialect[] = [variantA, variantB, oneRoster12];
