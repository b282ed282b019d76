// In charge of the addresses of what the console has pages about, and of the links that show them.
import { html, type Html } from '../http/html.ts';

const part = encodeURIComponent;

export const schoolsPath = '/console/schools';
export const schoolRoute = `${schoolsPath}/:estab`;
export const schoolPath = (estab: string) => `${schoolsPath}/${part(estab)}`;
export const grantPath = (estab: string, rp: string) => `${schoolPath(estab)}/applications/${part(rp)}`;
export const sourcePath = (estab: string) => `${schoolPath(estab)}/source`;
export const uploadPath = (estab: string) => `${sourcePath(estab)}/upload`;
export const importsPath = (estab: string) => `${schoolPath(estab)}/imports`;
export const importPath = (estab: string, id: string) => `${importsPath(estab)}/${part(id)}`;
export const heldPath = (estab: string) => `${schoolPath(estab)}/held`;
export const loginsPath = (estab: string) => `${schoolPath(estab)}/logins`;
export const rosterPath = (estab: string) => `${schoolPath(estab)}/roster`;

/** Not below the schools and the applications: one of them may be called `new`. */
export const [addSchoolPath, addApplicationPath] = ['/console/add-school', '/console/add-application'];

export const applicationsPath = '/console/applications';
export const applicationRoute = `${applicationsPath}/:rp`;
export const applicationPath = (rp: string) => `${applicationsPath}/${part(rp)}`;
export const inboxPath = (rp: string, id: string) => `${applicationPath(rp)}/inboxes/${part(id)}`;

export const deliveriesPath = '/console/deliveries';
export const tailPath = `${deliveriesPath}/tail`;
export const targetsPath = '/console/targets';
export const targetPath = (id: string) => `${targetsPath}/${part(id)}`;

export const mailListPath = '/console/mail';
export const mailPath = (id: string) => `${mailListPath}/${part(id)}`;
export const workListPath = '/console/work';
export const workPath = (id: string) => `${workListPath}/${part(id)}`;

export const backupsPath = '/console/backups';

export const operatorsPath = '/console/operators';
export const operatorPath = (signInName: string) => `${operatorsPath}/${part(signInName)}`;

/** By its id, or by the name that somebody gave it. */
const link = (path: string, id: string, name: string | undefined) => html`<a href="${path}">${name === undefined ? id : html`<bdi>${name}</bdi>`}</a>`;

/** What is about no school has none, or an empty one. */
export function schoolLink(estab: string | null, name?: string): Html | undefined {
  return estab === null || estab === '' ? undefined : link(schoolPath(estab), estab, name);
}

export function applicationLink(rp: string | null, name?: string): Html | undefined {
  return rp === null ? undefined : link(applicationPath(rp), rp, name);
}

export const grantLink = (estab: string, rp: string, name?: string): Html => link(grantPath(estab, rp), rp, name);
