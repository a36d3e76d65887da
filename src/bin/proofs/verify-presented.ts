/** A proof that somebody else made, verified by files alone: what was asked, whose word counts, and what was revoked. @module */

import { findCircuit } from '../../circuits/catalogue.ts'
import {
  type PublishedIssuerKey,
  type VerifiedPresentation,
  type VerifyReason,
  verifyProof,
} from '../../circuits/offline-verification.ts'
import type { VerificationKey } from '../../circuits/verifier.ts'
import { type ProofFile, ProofFileError, parseJson } from '../../circuits/verifying/proof-file.ts'
import { detailOf } from '../../errors.ts'
import { isObject } from '../../protocol/json-object.ts'
import { findStatusPlace, type StatusPlace } from '../../protocol/status.ts'
import { type ExpectedStatusList, readStatusList, type StatusListReason } from '../../protocol/status-list.ts'
import type { ProofContext } from '../../rules/encode.ts'
import type { Expectation } from '../../rules/expectation.ts'

const MS_PER_SECOND = 1000

/** Files are given by their paths. */
export interface PresentedFlags {
  /** Answer of /.well-known/issuer-keys. */
  readonly issuerKeys?: string
  /** Ids of organisations, with commas between. */
  readonly issuers?: string
  /** Answer of POST /v1/proofs/challenge, or its context. */
  readonly challenge?: string
  /** Answer of /status/{list}. */
  readonly statusList?: string
  /** Answer of /.well-known/jwks.json, whose key signed that. */
  readonly jwks?: string
  /** BASE_URL of the issuing service. */
  readonly service?: string
  /** What proofs that were accepted before use up, one to a line, as it is printed or without `uses` before it. */
  readonly seen?: string
}

/** Whether a proof of something issued is to be verified as one that somebody else made. */
export const isPresented = ({
  issuerKeys,
  issuers,
  challenge,
  statusList,
  jwks,
  service,
  seen,
}: PresentedFlags): boolean =>
  [issuerKeys, issuers, challenge, statusList, jwks, service, seen].some((flag) => flag !== undefined)

const jsonObject = (text: string, what: string): Readonly<Record<string, unknown>> => {
  const json = parseJson(text, what)
  return isObject(json) ? json : refuse(`${what} holds no JSON object.`)
}

const refuse = (message: string): never => {
  throw new ProofFileError(message)
}

const isKeys = (keys: unknown): keys is { readonly [name: string]: unknown }[] =>
  Array.isArray(keys) && keys.every(isObject)

const keysIn = (text: string, what: string) => {
  const { keys } = jsonObject(text, what)
  return isKeys(keys) ? keys : refuse(`${what} has no "keys".`)
}

const issuerKeysIn = (text: string, what: string): PublishedIssuerKey[] =>
  keysIn(text, what).map(({ x, y, validFrom, validUntil }) =>
    typeof x === 'string' && typeof y === 'string' && typeof validFrom === 'string'
      ? { x, y, validFrom, validUntil: typeof validUntil === 'string' ? validUntil : null }
      : refuse(`${what} has a key without x, y and validFrom.`),
  )

/** The context of a challenge, by itself or in the answer that made it. */
const challengeIn = (
  text: string,
  what: string,
  isContext: (json: object) => json is ProofContext,
): ProofContext => {
  const json = jsonObject(text, what)
  const context = isObject(json.context) ? json.context : json
  return isContext(context) ? context : refuse(`${what} holds no challenge.`)
}

const SEEN_LINE = /^(?:uses\s+)?(nonce\/.+|[a-z_]+\/\d+)$/
/** What does not stand in a line of text as it is: a file of lines would not have it again. */
const UNPRINTABLE = /^\s|\p{C}|\s$/u

const usesIn = (text: string, what: string): string[] =>
  text.split('\n').flatMap((line, index) => {
    const trimmed = line.trim()
    if (trimmed === '') return []
    const [, use] = SEEN_LINE.exec(trimmed) ?? []
    return (
      use ?? refuse(`Line ${index + 1} of ${what} is neither nonce/… nor CIRCUIT/…, as \`uses\` are printed.`)
    )
  })

interface Given {
  readonly file: ProofFile
  readonly circuitId: string
  readonly key: VerificationKey
  readonly expect: Expectation | undefined
  readonly read: (path: string) => string
  readonly isContext: (json: object) => json is ProofContext
}

/** Where the status stands that the proof discloses; unless there are as many signals as the circuit has, none is known. */
const statusPlaceOf = ({ file: { publicSignals }, circuitId }: Given): StatusPlace | undefined => {
  const names = findCircuit(circuitId)?.publicNames ?? []
  const status = publicSignals[names.indexOf('disclosedStatus')]
  return names.length === publicSignals.length ? findStatusPlace(Number(status ?? 0)) : undefined
}

const openStatusList = async (flags: PresentedFlags, given: Given) => {
  const place = statusPlaceOf(given)
  if (flags.statusList === undefined || place === undefined) return undefined
  if (flags.jwks === undefined || flags.service === undefined)
    return refuse('--status-list needs --jwks and --service.')
  const keys = { keys: keysIn(given.read(flags.jwks), flags.jwks) } as unknown as ExpectedStatusList['keys']
  const now = Math.floor(Date.now() / MS_PER_SECOND)
  const expected = { keys, issuer: flags.service, list: place.list, now }
  return readStatusList(given.read(flags.statusList).trim(), expected)
}

/** What was found out of a proof that somebody else made. */
export interface PresentedReport extends Pick<VerifiedPresentation, 'issuer' | 'binding' | 'uses'> {
  readonly reasons: readonly (VerifyReason | StatusListReason)[]
  readonly checked: readonly string[]
}

/** @throws ProofFileError where something is missing that it can't be said without */
export const verifyPresented = async (flags: PresentedFlags, given: Given): Promise<PresentedReport> => {
  const { file, circuitId, key, expect, read, isContext } = given
  const { issuerKeys, issuers, challenge, seen } = flags
  if (issuerKeys === undefined || issuers === undefined)
    return refuse('To verify a proof that somebody else made, give --issuer-keys and --issuers.')
  const { context } = file
  if (context === undefined || !isContext(context)) return refuse('The file has no context.')
  const opened = await openStatusList(flags, given)
  try {
    const { reasons, issuer, binding, uses } = await verifyProof(
      { circuit_id: circuitId, proof: file.proof, public_signals: file.publicSignals, context },
      {
        keys: { circuit: key, issuer: { keys: issuerKeysIn(read(issuerKeys), issuerKeys) } },
        issuers: issuers.split(','),
        expect,
        ...(challenge !== undefined && { challenge: challengeIn(read(challenge), challenge, isContext) }),
        ...(opened && 'statusList' in opened && { statusList: opened.statusList }),
        ...(seen !== undefined && { seen: usesIn(read(seen), seen) }),
      },
    )
    if (seen !== undefined && uses.some((use) => UNPRINTABLE.test(use)))
      return refuse(
        'The nonce has blanks around it or unprintable characters, of which --seen keeps no track.',
      )
    const unread = opened && 'reason' in opened ? opened.reason : undefined
    return {
      issuer,
      binding,
      uses,
      reasons: unread
        ? reasons.map((reason) => (reason === 'STATUS_LIST_MISSING' ? unread : reason))
        : reasons,
      checked: [
        challenge === undefined
          ? 'what was expected: audience, purpose, nonce and who asks'
          : 'the challenge that it answers',
        'the key of the issuer is one that the issuing service publishes',
        ...(issuer === null
          ? []
          : [`issued by ${issuer}, ${binding === 'holder' ? 'to a holder' : 'to bearer'}`]),
        ...(opened && 'statusList' in opened
          ? [
              `not revoked by the status list of ${new Date(opened.statusList.issuedAt * MS_PER_SECOND).toISOString()}`,
            ]
          : []),
      ],
    }
  } catch (error) {
    if (error instanceof ProofFileError) throw error
    const { path, message } = detailOf(error)
    return refuse(`${path.slice(1)} ${message}.`)
  }
}
