/** What the service signs as a compact JWS, by its `typ`: what to check of each, and what it says. @module */
import { readReceiptAnswer } from '../../../protocol/consent/receipt.ts'
import { readJws } from '../../../protocol/jws.ts'
import { textOf } from '../../http.ts'
import type { OwnService } from '../own-service.ts'
import {
  attempt,
  type Check,
  ended,
  type Fact,
  type Found,
  lack,
  leaveOpen,
  pass,
  refuse,
  timeWords,
  visible,
} from '../report.ts'
import { readSigned, type SignedText, WHOSE } from '../signed.ts'
import { revocationCheck } from './status-list.ts'

type Json = Readonly<Record<string, unknown>>

interface SignedKind {
  readonly what: string
  /** Keys of tickets have short ids, and sign nothing else. */
  readonly kidCharacters?: number
  readonly hasIssuer?: boolean
  readonly expired?: string
  readonly expiry?: SignedText['expiry']
  /** What only this kind has. */
  readonly further?: (payload: Json, service: OwnService, now: number) => Promise<Check>
  /** What only the service knows, without which it may be over by now. */
  readonly open?: (payload: Json) => Check | undefined
  /** `isPlain`: see {@link Found}; default true. */
  readonly meaning: (payload: Json) => {
    readonly word: string
    readonly text: string
    readonly isPlain?: boolean
  }
  readonly notChecked: readonly string[]
}

const BADGE = 'Badge as of now'
const KID_CHARACTERS = 43
const TICKET_KID_CHARACTERS = 8

const BADGE_ID = /^bdg_[0-9a-z]{26}$/

/** From the lowest. */
const TRUST_LEVELS: readonly unknown[] = ['registered', 'key_verified', 'domain_verified']

/** What the service says of an agent that is active, held against what its badge says. */
const trustCheck = (stated: unknown, now: unknown, domain: unknown): Check => {
  const level = typeof domain === 'string' ? `${visible(now)} (${visible(domain)})` : visible(now)
  return TRUST_LEVELS.indexOf(now) < TRUST_LEVELS.indexOf(stated)
    ? ended(
        BADGE,
        'REVOKED',
        'TRUST_LEVEL_LOWERED',
        `It says that the trust level is ${visible(stated)}, and the service says now that it is ${level}.`,
      )
    : pass(BADGE, `The agent is active, with trust level ${level}, says the service now.`)
}

/** A badge learns nothing of what happens after it was issued. */
const badgeCheck = ({ jti, trust_level }: Json, service: OwnService): Promise<Check> =>
  attempt(BADGE, async () => {
    const id = typeof jti === 'string' && BADGE_ID.test(jti) ? jti : ''
    const badge = id === '' ? undefined : await service.lookUp(`/ext/v1/agent-trust/badge/${id}`)
    const status = textOf(badge, 'status')
    if (badge === undefined || status === undefined)
      return refuse(BADGE, 'BADGE_UNKNOWN', 'The service knows no such badge.')
    if (badge.badge_id !== id) return lack(BADGE, 'The service answered about another badge.')
    return status === 'active'
      ? trustCheck(trust_level, badge.trust_level, badge.domain)
      : ended(
          BADGE,
          status === 'expired' ? 'EXPIRED' : 'REVOKED',
          `AGENT_${status.toUpperCase()}`,
          `The agent is ${visible(status)}, says the service now.`,
        )
  })

const AUDIENCE = 'that it is for you: compare its audience with your own, if it names one'
const SAID = 'that what it says is true: it is the word of the organisation that it names'

/** Neither is a plain YES, whatever it says. */
const ASK_QUESTION = 'To which question, it does not say here: ask the organisation before you rely on it.'

/** As they end a sentence. */
const reasonsIn = ({ reasons }: Json): string =>
  Array.isArray(reasons) && reasons.length > 0 ? ` (${reasons.map(visible).join(', ')})` : ''

const RECEIPT_WORDS = new Map<unknown, string>([
  ['ALLOW', 'allowed'],
  ['DENY', 'denied'],
  ['STEP_UP', 'not signed by the agent'],
])

const singleUse = ({ single_use: isSingle }: Json): Check | undefined =>
  isSingle === true
    ? leaveOpen(
        'Use',
        'whether it was used',
        'It is for a single use. Whether it was used, only the service knows: have the organisation validate it.',
      )
    : undefined

const EXPIRY = 'Expiry'
const MS_PER_SECOND = 1000

/** A receipt has no `exp`: it records when what the person answered ends. */
const receiptExpiry = (payload: Json, now: number): Check => {
  const said = readReceiptAnswer(payload)
  if (said === undefined)
    return refuse(EXPIRY, 'RECEIPT_MALFORMED', 'It does not say what the person answered, or until when.')
  const { endsAt } = said
  if (endsAt === undefined) return pass(EXPIRY, 'It names no end of what it records.')
  const end = timeWords(endsAt / MS_PER_SECOND)
  return now < endsAt
    ? pass(EXPIRY, `What it records ends at ${end}, by the clock of this device.`)
    : ended(
        EXPIRY,
        'EXPIRED',
        'CONSENT_EXPIRED',
        `What it records ended at ${end}, by the clock of this device.`,
      )
}

const opens = (title: string, open: string, detail: string) => () => leaveOpen(title, open, detail)

const agentSince = opens(
  'The agent now',
  'whether the agent was suspended or revoked since',
  'Whether the agent was suspended or revoked since, only the service knows: ask POST /ext/v1/agent-trust/verify.',
)

const always = (word: string, text: string) => () => ({ word, text })

const KINDS: Readonly<Record<string, SignedKind>> = {
  'vt+jwt': {
    what: 'Token',
    expired: 'TOKEN_EXPIRED',
    further: (payload, service, now) => revocationCheck(payload, service, now),
    open: singleUse,
    meaning: ({ single_use: isSingle }) =>
      isSingle === true
        ? { word: 'Genuine', text: 'The service signed it, its time is not over, and it was not revoked.' }
        : { word: 'Valid', text: 'The service signed it, it counts now, and it was not revoked.' },
    notChecked: [AUDIENCE, SAID],
  },
  'qt+jwt': {
    what: 'Ticket',
    kidCharacters: TICKET_KID_CHARACTERS,
    hasIssuer: false,
    expired: 'TICKET_EXPIRED',
    open: opens(
      'Use and revocation',
      'whether it was used or revoked',
      'Whether it was used or revoked, only the service knows: hand it in, with POST /v1/qr/proofs/batch.',
    ),
    meaning: always('Genuine', 'The service signed it, and its time is not over.'),
    notChecked: [
      'that it is yours: all organisations share the keys, so compare “Organisation” with the last ten characters of your own id',
      'who shows it: a code can be photographed',
    ],
  },
  'cr+jws': {
    what: 'Consent receipt',
    open: opens(
      'Withdrawal',
      'whether the consent still stands',
      'Whether the consent was withdrawn or replaced since, only the service knows: ask POST /api/consent/verify.',
    ),
    expiry: receiptExpiry,
    meaning: (payload) =>
      readReceiptAnswer(payload)?.answer === 'refused'
        ? {
            word: 'Genuine: refused',
            text: 'The service signed that the person refused: it is no consent.',
            isPlain: false,
          }
        : { word: 'Genuine', text: 'The service signed that this consent was recorded.' },
    notChecked: ['that the person really said so: the service records what the organisation said'],
  },
  'agent-badge+jwt': {
    what: 'Badge of an agent',
    expired: 'BADGE_EXPIRED',
    further: badgeCheck,
    meaning: always('Valid', 'The service signed it, and says now that the agent is active.'),
    notChecked: [
      'that whoever shows it is the agent: have the agent sign something with its key',
      'that its name is true: it is the word of the organisation that enrolled it, so compare its domain, where it names one',
    ],
  },
  'hv+jws': {
    what: 'Verdict about data behind an address',
    meaning: ({ verdict }) => ({
      word: `Valid: ${verdict === 'YES' ? 'YES' : 'NO'} to an unknown question`,
      text: `The service signed this verdict: ${visible(verdict)}. ${ASK_QUESTION}`,
      isPlain: false,
    }),
    notChecked: ['what was asked: compare the hashes of address and criteria with your own'],
  },
  'pd+jws': {
    what: 'Decision of a policy',
    meaning: ({ decision }) => ({
      word: `Valid: ${decision === true ? 'permitted' : 'denied'}, question unknown`,
      text: `The service signed that the policy ${decision === true ? 'permitted' : 'denied'} what was asked. ${ASK_QUESTION}`,
      isPlain: false,
    }),
    notChecked: ['what was asked: it is a commitment, which the organisation can open'],
  },
  'agent-verdict+jws': {
    what: 'Verdict about an agent',
    expired: 'VERDICT_EXPIRED',
    open: agentSince,
    meaning: (payload) =>
      payload.verified === true
        ? { word: 'Valid: verified', text: 'The service signed that it verified the agent then.' }
        : {
            word: 'Valid: not verified',
            text: `The service signed that it did not verify the agent${reasonsIn(payload)}.`,
            isPlain: false,
          },
    notChecked: ['who shows it: have the agent sign something with its key'],
  },
  'agent-receipt+jws': {
    what: 'Receipt of an act of an agent',
    open: agentSince,
    meaning: (payload) => {
      const decided = RECEIPT_WORDS.get(payload.decision) ?? visible(payload.decision)
      return {
        word: `Valid: ${decided}`,
        text: `The service signed what it decided of the act: ${decided}${reasonsIn(payload)}.`,
        isPlain: payload.decision === 'ALLOW',
      }
    },
    notChecked: ['that the act was done: the service signed only what it decided'],
  },
  'agent-authorisation+jwt': {
    what: 'Authorisation of an agent',
    expired: 'AUTHORISATION_EXPIRED',
    open: agentSince,
    meaning: always('Genuine', 'The service signed it, and its time is not over.'),
    notChecked: ['who shows it: have the agent sign something with its key'],
  },
  'aml-decision+jws': {
    what: 'Decision on a screening',
    open: opens(
      'The decision now',
      'whether it still counts',
      'Whether a later decision replaced it, or what was found has changed since, only the service knows: ask GET /api/aml/findings.',
    ),
    meaning: ({ verdict }) =>
      verdict === 'not_this_person'
        ? {
            word: 'Genuine: not this person',
            text: 'The service signed the decision that the person is not the one on the list.',
          }
        : {
            word: `Genuine: ${visible(verdict)}`,
            text: `The service signed this decision: ${visible(verdict)}.`,
            isPlain: false,
          },
    notChecked: [SAID],
  },
}

/** Claims that people know by another name; the others are called as they are. */
const TITLES: ReadonlyMap<string, string> = new Map(
  Object.entries({
    iss: 'Issuer',
    org: 'Organisation',
    o: 'Organisation (last ten characters)',
    jti: 'Id',
    sub: 'Subject',
    aud: 'Audience',
    iat: 'Issued at',
    exp: 'Expires at',
    single_use: 'Single use',
    claims: 'Claims',
    c: 'Claims',
    m: 'Many uses',
    status: 'Entry of the status list',
    name: 'Name',
    agent_kid: 'Key of the agent',
    trust_level: 'Trust level',
    domain: 'Domain that publishes the key',
    header: 'Record',
    pii_processing: 'What may be done',
    party_identification: 'By whom',
    events: 'What happened',
    decision: 'Decision',
    leaf_hash: 'Entry in the log',
  }),
)
const TIMES = ['iat', 'exp']

const factsOf = (payload: Json): Fact[] =>
  Object.entries(payload).map(([name, value]) => [
    TITLES.get(name) ?? visible(name),
    TIMES.includes(name) && typeof value === 'number' ? timeWords(value) : visible(value),
  ])

/** The `typ` of a JWS; undefined for what is none. */
export const typeOf = (jws: string): string | undefined => {
  const typ = readJws(jws)?.header.typ
  return typeof typ === 'string' ? typ : undefined
}

export const isSignedKind = (typ: string): boolean => Object.hasOwn(KINDS, typ)

/** @param typ one of those above @param now Unix ms */
export const checkSigned = async (
  text: string,
  typ: string,
  service: OwnService,
  now: number,
): Promise<Found> => {
  const kind = KINDS[typ]
  if (kind === undefined) throw new RangeError(`${typ} is no type that this page checks`)
  const { what, kidCharacters = KID_CHARACTERS, hasIssuer = true, expired = 'EXPIRED', notChecked } = kind
  const given = { text, typ, kidCharacters, hasIssuer, expired, expiry: kind.expiry }
  const { checks, payload } = await readSigned(given, service, now)
  if (payload === undefined) return { what, checks, meaning: { word: '', text: '', isPlain: false } }
  const further = kind.further && [await kind.further(payload, service, now)]
  const open = kind.open?.(payload)
  return {
    what,
    checks: [...checks, ...(further ?? []), ...(open === undefined ? [] : [open])],
    facts: factsOf(payload),
    meaning: { isPlain: true, ...kind.meaning(payload) },
    notChecked: payload.org === undefined ? notChecked : [...notChecked, WHOSE],
  }
}
