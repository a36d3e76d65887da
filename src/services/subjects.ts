/** Has the subjects of what earlier versions issued read, each by who knows how it is sealed. @module */
import { HYBRID_TOKEN_SUBJECT, openSubject } from '../domain/hybrid-tokens/sealed-terms.ts'
import { openTicket, TICKET_SUBJECT } from '../domain/tickets/sealed-ticket.ts'
import { TOKEN_SUBJECT } from '../domain/tokens/issue.ts'
import { openToken } from '../domain/tokens/sealed-token.ts'
import { createSubjectReader, type SubjectReaderDeps, type UnreadTable } from '../keys/unread-subjects.ts'
import type { Closers, Foundations } from './foundations.ts'

/** @param closers receives what ends it */
export const readSubjects = (
  { database, logger, sealing, subjects }: SubjectReaderDeps & Pick<Foundations, 'sealing' | 'subjects'>,
  closers: Closers,
): void => {
  const tables: readonly UnreadTable[] = [
    {
      table: 'tokens',
      subjectOf: ({ organisation, id, sealed }) =>
        subjects.of(organisation, TOKEN_SUBJECT, openToken(sealing, id, sealed).payload.sub),
    },
    {
      table: 'hybrid_tokens',
      subjectOf: (row) => subjects.of(row.organisation, HYBRID_TOKEN_SUBJECT, openSubject(sealing, row)),
    },
    {
      table: 'tickets',
      async subjectOf({ organisation, id, sealed }) {
        const { subject } = openTicket(sealing, id, sealed)
        return subject === undefined ? '' : subjects.of(organisation, TICKET_SUBJECT, subject)
      },
    },
  ]
  const reader = createSubjectReader({ database, logger }, tables)
  closers.push(() => reader.close())
}
