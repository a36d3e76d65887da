/** Wire shapes of tickets. @module */
import Type, { type Static } from 'typebox'
import { askedId, DateTime, dateTime, idOf, orNull } from '../../json/schemas.ts'
import { Expect } from '../../rules/schemas.ts'

export const MAX_BATCH_PROOFS = 100
export const DEFAULT_TTL_SECONDS = 24 * 3600
const MAX_TTL_SECONDS = 366 * 24 * 3600
const MAX_SUBJECT_CHARACTERS = 256
const MAX_CLAIMS = 32

const TicketId = idOf('tkt')
const Digest = Type.String({ description: 'SHA-256, lower-case hex.' })

export const NewTicket = Type.Object(
  {
    subject: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: MAX_SUBJECT_CHARACTERS,
        description: 'The subject. Not contained in the ticket; in the log only as a pseudonym.',
      }),
    ),
    circuit_id: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 64,
        description: 'The circuit that the ticket refers to, if any.',
      }),
    ),
    claims: Type.Optional(
      Type.Record(Type.String(), Type.Unknown(), {
        maxProperties: MAX_CLAIMS,
        description:
          'Claims of the ticket; anyone who scans it can read them. A ticket has at most 300 bytes, which leaves about 50 for the canonical JSON of the claims.',
      }),
    ),
    single_use: Type.Optional(
      Type.Boolean({ default: true, description: 'Whether it can be redeemed only once.' }),
    ),
    ttl: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: MAX_TTL_SECONDS,
        default: DEFAULT_TTL_SECONDS,
        description: 'Seconds until it expires.',
      }),
    ),
  },
  { title: 'NewTicket' },
)
export type NewTicket = Static<typeof NewTicket>

export const TicketIssued = Type.Object(
  {
    ticket_id: TicketId,
    qr_payload: Type.String({
      description:
        'The content of the QR code: a compact JWS, at most 300 bytes, EdDSA, typ `qt+jwt`, a key of /.well-known/jwks.json. Members `c` (claims), `exp`, `jti` and `o` (the last ten characters of the ids of ticket and organisation), `m` (1: for many uses; absent: for one).',
    }),
    svg_url: Type.String({ description: 'Address of its QR code, with your API key.' }),
    digest: Digest,
    expires_at: DateTime,
  },
  { title: 'TicketIssued' },
)
export type TicketIssued = Static<typeof TicketIssued>

/** A ticket that is handed in as an object: its text, and what else its issuing answered, as it was. */
export const AS_ISSUED = ['ticket_id', 'svg_url', 'digest', 'expires_at'] as const
export const PresentedTicket = Type.Object({
  qr_payload: Type.String(),
  expect: Type.Optional(Expect),
  ...Type.Partial(Type.Pick(TicketIssued, [...AS_ISSUED])).properties,
})

export const TicketParams = Type.Object({ ticketId: askedId('tkt') })

export const ProofsBatch = Type.Object(
  {
    proofs: Type.Array(Type.Unknown(), {
      minItems: 1,
      description: `At most ${MAX_BATCH_PROOFS}. Each is a ticket, as text or as it was returned at issue (at least \`{qr_payload}\`), with what you \`expect\` of it, or a proof as POST /v1/proofs/verify takes it, which needs scope \`proof\` as well.`,
    }),
  },
  { title: 'ProofsBatch' },
)
export type ProofsBatch = Static<typeof ProofsBatch>

const BATCH_STATUSES = ['spent', 'refused', 'DOUBLE_SPEND', 'invalid', 'expired', 'unknown'] as const

export const BatchOutcome = Type.Object(
  {
    index: Type.Integer({ minimum: 0 }),
    digest: orNull(Digest, { description: 'Null if the item has no digest.' }),
    status: Type.Enum([...BATCH_STATUSES], {
      description:
        'Only `spent` means accepted. `refused`: a proof of a NO, or one that answers no question; it remains unspent.',
    }),
    decision: Type.Union([Type.Literal(0), Type.Literal(1), Type.Null()], {
      description:
        'What a proof decides: 1 is YES, 0 is NO. Null for a proof that answers no question or is not valid, and for tickets, which have no decision.',
    }),
    consumed: Type.Boolean({
      description: 'Whether this call spent it. False with `spent` for a ticket that can be used many times.',
    }),
    consumed_at: Type.Optional(dateTime('When it was spent.')),
    ticket_id: Type.Optional(TicketId),
    claims: Type.Optional(
      Type.Record(Type.String(), Type.Unknown(), { description: 'Claims of an accepted ticket.' }),
    ),
    reason_codes: Type.Optional(
      Type.Array(Type.String(), {
        description: 'Reasons for a refused proof, or for a ticket that is not as expected.',
      }),
    ),
    message: Type.Optional(Type.String()),
  },
  { title: 'BatchOutcome' },
)
export type BatchOutcome = Static<typeof BatchOutcome>

export const BatchOutcomes = Type.Object(
  {
    accepted: Type.Integer({ minimum: 0 }),
    rejected: Type.Integer({ minimum: 0 }),
    results: Type.Array(BatchOutcome, { description: 'In the order of the request.' }),
  },
  { title: 'BatchOutcomes' },
)
export type BatchOutcomes = Static<typeof BatchOutcomes>
