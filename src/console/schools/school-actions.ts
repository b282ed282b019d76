// In charge of what an operator does on the page of a school: confirm or refuse it, mail it a link, pause and resume it.
import { mailLink } from '../../onboarding/ask-link.ts';
import { confirmSchool } from '../../onboarding/invitations.ts';
import { pauseSchool, resumeSchool } from '../../onboarding/pause-school.ts';
import { refuseSchool } from '../../onboarding/refuse-school.ts';
import { schoolPath, schoolRoute, schoolsPath } from '../links.ts';
import type { Action, ConsoleParts } from '../visit.ts';
import { estabOf } from './around.ts';
import { labels } from './words.ts';

const path = schoolRoute;
export const deciding = ({ changes, seal, config }: ConsoleParts) => ({ db: changes, seal, publicUrl: config.publicUrl });

export const schoolActions: readonly Action[] = [
  {
    path: `${path}/confirm`,
    name: 'school confirm',
    done: 'The school is confirmed, and those who asked it have been let through.',
    labels,
    about: (_visit, form) => ({ detail: { email: form.one('email') } }),
    async run({ changes, config }, visit, form) {
      await confirmSchool(changes, config.publicUrl, estabOf(visit), form.one('email'));
      return { to: schoolPath(estabOf(visit)) };
    },
  },
  {
    path: `${path}/refuse`,
    name: 'school refuse',
    done: 'The school is refused: it is gone, with what applications had asked of it.',
    async run({ changes }, visit) {
      await refuseSchool(changes, estabOf(visit));
      return { to: schoolsPath };
    },
  },
  {
    path: `${path}/send-link`,
    name: 'school link',
    done: {
      mailed: 'A link to its pages goes to the address of record of the school.',
      stored: 'A link to its pages was made. E-mail is not set up, so nothing was mailed: the link is under Mail.',
    },
    async run({ changes, config }, visit) {
      await mailLink(changes, config.publicUrl, estabOf(visit));
      return { to: schoolPath(estabOf(visit)) };
    },
  },
  {
    path: `${path}/pause`,
    name: 'school pause',
    done: 'The school is paused: no application can read its data.',
    async run(parts, visit) {
      await pauseSchool(deciding(parts), estabOf(visit));
      return { to: schoolPath(estabOf(visit)) };
    },
  },
  {
    path: `${path}/resume`,
    name: 'school resume',
    done: 'The school is resumed. What it had paused itself stays paused.',
    async run(parts, visit) {
      await resumeSchool(deciding(parts), estabOf(visit));
      return { to: schoolPath(estabOf(visit)) };
    },
  },
];
