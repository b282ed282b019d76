// In charge of counting requests: how many, how they ended and how long they took, by the pattern of their route, which
// are as many as there are routes, however many paths are asked for.
import { Histogram } from '../histogram.ts';
import type { Metric } from './metrics.ts';

export type RequestMeter = {
  begin(): void;
  /** So many requests were not kept one by one. */
  leaveOut(count: number): void;
  end(request: { method: string; route: string; status: number; refusedAs: string | null; seconds: number }): void;
  measure(): Metric[];
};

const bounds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 30] as const;
const methods: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);

/** There from the start, so that the first is seen as one more. */
const ownFaults: readonly string[] = ['unexpected', 'unavailable'];

type Counted = { labels: { method: string; route: string }; durations: Histogram; statuses: Map<number, number> };

export function createRequestMeter(): RequestMeter {
  const counted = new Map<string, Counted>();
  const refused = new Map<string, number>();
  let underWay = 0;
  let leftOut = 0;

  return {
    begin() {
      underWay += 1;
    },
    leaveOut(count) {
      leftOut += count;
    },
    end({ method: given, route, status, refusedAs, seconds }) {
      underWay -= 1;
      if (refusedAs !== null) refused.set(refusedAs, (refused.get(refusedAs) ?? 0) + 1);
      const method = methods.has(given) ? given : 'other';
      const key = `${method} ${route}`;
      let one = counted.get(key);
      if (!one) counted.set(key, (one = { labels: { method, route }, durations: new Histogram(bounds), statuses: new Map() }));
      one.durations.observe(seconds);
      one.statuses.set(status, (one.statuses.get(status) ?? 0) + 1);
    },
    measure() {
      const all = [...counted.values()];
      return [
        {
          name: 'schoolbell_http_requests_total',
          help: 'Requests that were answered, by the pattern of their route; 499 is one whose caller left before the answer',
          type: 'counter',
          values: all.flatMap(({ labels, statuses }) => [...statuses].map(([status, value]) => ({ labels: { ...labels, status: String(status) }, value }))),
        },
        {
          name: 'schoolbell_http_request_duration_seconds',
          help: 'Time until the answer began to leave, so that a slow reader of a long list does not count',
          type: 'histogram',
          values: all.map(({ labels, durations }) => ({ labels, value: durations })),
        },
        {
          name: 'schoolbell_http_refusals_total',
          help: 'Requests that were answered with an error, by its code: "unexpected" and "unavailable" are ours, whatever status an API gives them',
          type: 'counter',
          values: [...ownFaults.map((code) => [code, refused.get(code) ?? 0] as const), ...[...refused].filter(([code]) => !ownFaults.includes(code))].map(
            ([code, value]) => ({ labels: { code }, value }),
          ),
        },
        {
          name: 'schoolbell_request_lines_left_out_total',
          help: 'Requests that the console does not list one by one, because there were too many at once or the database did not take them',
          type: 'counter',
          values: [{ labels: {}, value: leftOut }],
        },
        { name: 'schoolbell_http_requests_in_progress', help: 'Requests under way now', type: 'gauge', values: [{ labels: {}, value: underWay }] },
      ];
    },
  };
}
