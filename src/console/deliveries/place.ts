// In charge of where deliveries and targets are looked at: all of them on pages of the operator, and those of one application on its own
// pages, which its developers see too. The pages are the same; whose deliveries they show, where they lead and how they look is said here.
import type { Application } from '../../access/applications.ts';
import type { Db } from '../../db/connect.ts';
import { html, type Html, type HtmlValue } from '../../http/html.ts';
import { renderTabs } from '../../http/pages/tabs.ts';
import { findTargetId } from '../../notifications/target-id.ts';
import { openApplication, renderApplicationPage } from '../applications/place.ts';
import { renderConsole } from '../layout.ts';
import { applicationPath, applicationRoute, deliveriesPath, schoolLink, targetsPath } from '../links.ts';
import { isDeveloper, type Action, type Page, type Shown, type Visit } from '../visit.ts';
import { targetKinds } from './words.ts';

export type Paths = Readonly<{ deliveries: string; tail: string; targets: string; delivery(id: string): string; target(id: string): string }>;

const pathsBelow = (deliveries: string, targets: string): Paths => ({
  deliveries,
  tail: `${deliveries}/tail`,
  targets,
  delivery: (id) => `${deliveries}/${encodeURIComponent(id)}`,
  target: (id) => `${targets}/${encodeURIComponent(id)}`,
});

/** rp: of the path, if that is an application's. */
export function pathsOf(rp: string | undefined): Paths {
  if (rp === undefined) return pathsBelow(deliveriesPath, targetsPath);
  return pathsBelow(`${applicationPath(rp)}/deliveries`, `${applicationPath(rp)}/targets`);
}

/** Whose it must be, as a condition of what is read and done; nothing: anybody's. */
export const ownerOf = ({ params }: Pick<Visit, 'params'>): { rp?: string } => (params.rp === undefined ? {} : { rp: params.rp });

type PlacePage = { title: string; body: HtmlValue; scripts?: readonly string[]; back?: { path: string; label: string } };

/** rp: whose alone. whole: what is kept for the operator is shown as well, and not only what the API tells the application. */
export type Place = Readonly<{
  rp: string | undefined;
  paths: Paths;
  whole: boolean;
  /** Of the page; below the name of the application it is none of the first order. */
  heading(words: HtmlValue): Html;
  school(estab: string | null, name?: string): HtmlValue;
  target(lane: string): Html | undefined;
  /** Between the list, the targets and the tail. */
  ways(open: keyof Pick<Paths, 'deliveries' | 'targets' | 'tail'>): Html;
  /** said: on top of it, where that is other than the visit brought. */
  render(page: PlacePage, said?: Pick<Visit, 'notice' | 'problem'>): Shown;
}>;

export async function openPlace(db: Db, visit: Visit): Promise<Place> {
  return placeOf(visit, visit.params.rp === undefined ? undefined : await openApplication(db, visit));
}

export function placeOf(visit: Visit, application: Application | undefined): Place {
  const paths = pathsOf(application?.rp);
  const developer = isDeveloper(visit);
  return {
    rp: application?.rp,
    paths,
    whole: !developer,
    heading: (words) => (application ? html`<h2 class="titled">${words}</h2>` : html`<h1 class="titled">${words}</h1>`),
    school: (estab, name) => (developer ? renderSchool(estab, name) : schoolLink(estab, name)),
    target(lane) {
      const target = findTargetId(lane);
      return target && html`<a href="${paths.target(target.id)}">${targetKinds[target.kind]}</a>`;
    },
    ways: (open) => renderWays(paths, open),
    render: (page, said = {}) =>
      application
        ? renderApplicationPage({ ...visit, ...said }, application, { tab: '/deliveries', ...page })
        : renderConsole({ ...visit, ...said }, { section: 'deliveries', ...page, body: html`${page.body}` }),
  };
}

/** Without a link: the school's pages are the operator's. */
const renderSchool = (estab: string | null, name: string | undefined): HtmlValue => (name === undefined ? (estab ?? '') : html`<bdi>${name}</bdi>`);

function renderWays({ deliveries, targets, tail }: Paths, open: 'deliveries' | 'targets' | 'tail'): Html {
  const tabs = [
    { path: deliveries, label: 'All deliveries' },
    { path: targets, label: 'Targets' },
    { path: tail, label: 'Live tail' },
  ];
  return renderTabs({ label: 'Deliveries', tabs, open: { deliveries, targets, tail }[open] });
}

/** The same page or action, of one application: for its developers as well. */
export function ofApplication<T extends Page | Action>(one: T): T {
  return { ...one, path: one.path.replace('/console', applicationRoute), developers: true };
}
