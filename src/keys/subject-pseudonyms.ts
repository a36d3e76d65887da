/**
 * Permanent pseudonyms of people: HMAC-SHA-256 (RFC 2104) over organisation, kind and id under a key derived from the
 * master key. Unlike the log's pseudonyms (pseudonyms.ts), whose keys are destroyed each epoch, they find the records of a
 * person for as long as those are kept; nobody without the master key can guess an id from one, or compare organisations.
 * @module
 */
import type { Sealing } from './sealing.ts'

const PURPOSE = 'subject-pseudonyms'

export interface SubjectPseudonyms {
  /**
   * The pseudonym of somebody, always the same.
   * @param kind keeps apart what different records say of the same id, such as `consent` and `kyc`
   * @returns 64 lower-case hex digits
   */
  of(organisation: string, kind: string, id: string): Promise<string>
}

interface Deps {
  readonly sealing: Sealing
}

export const createSubjectPseudonyms = ({ sealing }: Deps): SubjectPseudonyms => ({
  // JSON keeps the three apart: no two triples have one text.
  of: async (organisation, kind, id) =>
    Buffer.from(sealing.mac(PURPOSE, Buffer.from(JSON.stringify([organisation, kind, id])))).toString('hex'),
})
