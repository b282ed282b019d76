// In charge of adding schools and changing them: what is known of one, and where its data comes from, in one step.
import { insertEstablishment, requireEstablishment, type Establishment, type EstablishmentChange } from '../access/establishments.ts';
import type { Seal } from '../access/seal.ts';
import { saveSource, type SourceSetup } from '../collection/change-source.ts';
import type { Db } from '../db/connect.ts';
import { SchoolbellError } from '../errors.ts';
import { editSchool } from './invitations.ts';
import { endLinks } from './links.ts';

type Keeping = { db: Db; seal: Seal; publicUrl: string };
type NewSchool = { estab: string; name: string; email: string; timeZone?: string | undefined };

/** `proposedBy`: applications that had proposed the school. Their invitations are not sent with it; the operator sends each of them. */
type AddedSchool = Establishment & { proposedBy: string[] };

/** Adds a school, or takes over an unconfirmed proposal of it. `setup` comes from `prepareSource`. */
export async function addSchool({ db, seal }: Omit<Keeping, 'publicUrl'>, given: NewSchool, setup: SourceSetup | undefined): Promise<AddedSchool> {
  return db.begin(async (tx) => {
    const inserted = await insertEstablishment(tx, given);
    await endLinks(tx, inserted.estab);
    if (setup) await saveSource(tx, seal, inserted.estab, setup);
    const proposals = await tx<{ rp: string }[]>`select rp from invitation where estab = ${inserted.estab} and state = 'Proposed' order by created_at`;
    const connector = setup === undefined ? inserted.connector : setup.kind === 'none' ? null : setup.kind;
    return { ...inserted, connector, proposedBy: proposals.map(({ rp }) => rp) };
  });
}

/** invited: how many were asked again, where the address of record has moved. */
export async function changeSchool(
  { db, seal, publicUrl }: Keeping,
  estab: string,
  change: EstablishmentChange,
  setup?: SourceSetup | undefined,
): Promise<Establishment & { invited: number }> {
  await requireEstablishment(db, estab);
  if (!setup && Object.values(change).every((value) => value === undefined))
    throw new SchoolbellError('invalid_request', 'nothing is to be changed: give one of --name, --email, --time-zone, --connector');
  const invited = await db.begin(async (tx) => {
    const edited = await editSchool(tx, publicUrl, estab, change);
    if (setup) await saveSource(tx, seal, estab, setup);
    return edited.invited;
  });
  return { ...(await requireEstablishment(db, estab)), invited };
}
