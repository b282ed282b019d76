// In charge of the list of collections, in the order in which they refer to one another.
import type { CollectionName, Resource } from './resource.ts';
import { academicSession } from './resources/academic-session.ts';
import { schoolClass } from './resources/class.ts';
import { course } from './resources/course.ts';
import { demographics } from './resources/demographics.ts';
import { enrollment } from './resources/enrollment.ts';
import { org } from './resources/org.ts';
import { user } from './resources/user.ts';

export const collections: Readonly<Record<CollectionName, Resource>> = {
  orgs: org,
  academicSessions: academicSession,
  courses: course,
  classes: schoolClass,
  users: user,
  enrollments: enrollment,
  demographics,
};

export const allResources: readonly Resource[] = Object.values(collections);
