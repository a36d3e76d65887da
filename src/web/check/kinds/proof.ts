/** Zero-knowledge proofs: the answer of a route that makes them, what snarkjs writes, or `zk1.…`. @module */
import { CIRCUITS, findCircuit } from '../../../circuits/catalogue.ts'
import { isIssuerKey, revocationOf } from '../../../circuits/offline-verification.ts'
import { readVerificationKey, type VerificationKey } from '../../../circuits/verifier.ts'
import { type ProofFile, ProofFileError, readProofFile } from '../../../circuits/verifying/proof-file.ts'
import {
  judgeProof,
  notChecked,
  type ProofJudgement,
  type ProofReason,
  UNKNOWN_SETUP,
} from '../../../circuits/verifying/proof-report.ts'
import { UnreachableError } from '../../http.ts'
import type { OwnService } from '../own-service.ts'
import {
  attempt,
  type Check,
  ended,
  type Fact,
  type Found,
  leave,
  leaveOpen,
  pass,
  refuse,
  timeWords,
  visible,
} from '../report.ts'
import { openStatusList } from './status-list.ts'

const WHAT = 'Zero-knowledge proof'
const PROOF = 'Zero-knowledge proof'
const TOLD = 'What the file says of it'
const ISSUER_KEY = 'Key of the issuer'
const STATUS = 'Revocation'
const FRESHNESS = 'Freshness'

const MS_PER_SECOND = 1000
/** How far the time of a proof may lie from the clock, as for the service. */
const MAX_NOW_DIFFERENCE_SECONDS = 120

/** A proof is spent once, and its maker may revoke it; neither shows in the proof. */
const USE = leaveOpen(
  'Use',
  'whether the proof was spent or revoked',
  'Whether the proof was spent, or revoked by whoever made it, only the service knows: ask POST /v1/proofs/verify.',
)

/** What the file says besides, and does not agree with the proof. */
const TOLD_WORDS: Readonly<Partial<Record<ProofReason, string>>> = {
  CIRCUIT_MISMATCH: 'The file names another circuit.',
  DIGEST_MISMATCH: 'The digest in the file is not that of the proven statement.',
  DECISION_MISMATCH: 'The decision in the file is not the one that was proven.',
  CONTEXT_MISMATCH: 'The context in the file is not what the proof is bound to.',
  POLICY_NO: 'A policy said NO, whatever the circuit shows: it opens nothing.',
}

const toldCheck = ({ reasons, checked }: ProofJudgement): Check[] => {
  const failures = reasons.map((reason) =>
    reason === 'EXPIRED'
      ? ended('Expiry', 'EXPIRED', 'EXPIRED', 'The time of its context is over, by the clock of this device.')
      : refuse(TOLD, reason, TOLD_WORDS[reason] ?? reason),
  )
  // The first three are those of the pairing.
  const [, , , ...compared] = checked
  if (failures.length > 0) return failures
  return compared.length === 0
    ? [
        leave(
          TOLD,
          'The file says nothing beside the proof and its signals that could be compared with them.',
        ),
      ]
    : [pass(TOLD, `${compared.join('; ')}.`)]
}

const keyOf = async (circuitId: string, service: OwnService): Promise<VerificationKey> => {
  const key = readVerificationKey(await service.published.verificationKey(circuitId))
  if (key === undefined)
    throw new UnreachableError(`what it publishes for ${circuitId} is no verification key.`)
  return key
}

/** Circuits that the file may be of: the one that it names, or all with as many signals. */
const candidates = ({ circuitId, publicSignals }: ProofFile): string[] =>
  circuitId === undefined
    ? CIRCUITS.filter(({ publicNames }) => publicNames.length === publicSignals.length).map(({ id }) => id)
    : [circuitId]

interface Judged {
  readonly circuitId: string
  readonly judgement: ProofJudgement
}

/** Under the key of each circuit that it may be of, until one holds. */
const judge = async (file: ProofFile, service: OwnService, now: number): Promise<Judged | undefined> => {
  let last: Judged | undefined
  for (const circuitId of candidates(file)) {
    const judgement = await judgeProof(file, circuitId, await keyOf(circuitId, service), now)
    last = { circuitId, judgement }
    if (judgement.valid) return last
  }
  return last
}

/** That an issuer stands behind what was proved of, and did not revoke it. */
const issuedChecks = async (
  proof: { readonly circuitId: string; readonly publicSignals: readonly string[] },
  service: OwnService,
  now: number,
): Promise<Check[]> => {
  const names = findCircuit(proof.circuitId)?.publicNames ?? []
  const isIssued = names.includes('issuerX') || names.includes('attestorX')
  if (!isIssued) return []
  const key = await attempt(ISSUER_KEY, async () =>
    isIssuerKey(proof, await service.issuerKeys(), now)
      ? pass(ISSUER_KEY, 'What it is about was signed by a key that the service publishes for its circuits.')
      : refuse(
          ISSUER_KEY,
          'ISSUER_UNKNOWN',
          'The key that signed what it is about is none that the service publishes, or counts no more.',
        ),
  )
  const status = revocationOf(proof)
  // Of some circuits no proof tells a status; of others it is the asker who wants none.
  if (status === undefined || status === null)
    return [
      key,
      leaveOpen(
        STATUS,
        'whether what it is about was revoked',
        status === null
          ? 'It does not tell the status of what it is about, so nobody can look up whether that was revoked. Ask for a proof that does.'
          : 'Proofs of this circuit tell no status, so nobody can look up whether what it is about was revoked: ask POST /v1/proofs/verify.',
      ),
    ]
  if (status === 'NO_LIST')
    return [key, refuse(STATUS, 'STATUS_LIST_OTHER', 'It tells a status that no list has.')]
  const revocation = await attempt(STATUS, async () => {
    const list = await openStatusList(status.list, service, now)
    return list.isSet(status.index)
      ? ended(
          STATUS,
          'REVOKED',
          'CREDENTIAL_REVOKED',
          'What it is about was revoked, says the published list.',
        )
      : pass(STATUS, `Not revoked, says entry ${status.index} of the published list ${status.list}.`)
  })
  return [key, revocation]
}

/** What a proof shows may be over by now, where it shows it of a time. @param now Unix ms */
const freshness = (circuitId: string, publicSignals: readonly string[], now: number): Check[] => {
  const at = findCircuit(circuitId)?.publicNames.indexOf('now') ?? -1
  if (at < 0) return []
  const stated = Number(publicSignals[at])
  return Math.abs(stated - Math.floor(now / MS_PER_SECOND)) <= MAX_NOW_DIFFERENCE_SECONDS
    ? [pass(FRESHNESS, `It shows what held at ${timeWords(stated)}, about now by the clock of this device.`)]
    : [
        leaveOpen(
          FRESHNESS,
          'whether it still holds',
          `It shows what held at ${timeWords(stated)}, which is more than ${MAX_NOW_DIFFERENCE_SECONDS} seconds off the clock of this device: ask for a new proof.`,
        ),
      ]
}

const factsOf = (circuitId: string, { digest, publicSignals }: ProofJudgement): Fact[] => [
  ['Circuit', `${circuitId}: ${findCircuit(circuitId)?.proves ?? ''}`],
  ...(digest === null ? [] : [['Digest of the statement', digest] as const]),
  ...Object.entries(publicSignals).map(([name, value]) => [name, visible(value)] as const),
]

const meaningOf = (says: string | null): Found['meaning'] => {
  if (says === null)
    return {
      word: 'The proof holds',
      text: 'It shows no YES or NO by itself: see what it shows.',
      isPlain: false,
    }
  const isYes = says.startsWith('YES')
  // What a YES depends on stands before the colon.
  const word = isYes ? says.replace(/:.*/, '') : says.startsWith('NO') ? 'NO' : 'no question asked'
  // Of no proof it is known whether it was spent, so that a YES is never green.
  return { word: `The proof holds: ${word}`, text: `It says ${says}.`, isPlain: isYes }
}

/** @param now Unix ms */
export const checkProof = async (text: string, service: OwnService, now: number): Promise<Found> => {
  const meaning = meaningOf(null)
  let file: ProofFile
  try {
    file = readProofFile(text)
  } catch (error) {
    if (!(error instanceof ProofFileError)) throw error
    return { what: WHAT, checks: [refuse('Form', 'PROOF_MALFORMED', error.message)], meaning }
  }
  if (file.circuitId !== undefined && findCircuit(file.circuitId) === undefined) {
    const detail = `This page knows no circuit ${visible(file.circuitId)}.`
    return { what: WHAT, checks: [refuse(PROOF, 'CIRCUIT_UNKNOWN', detail)], meaning }
  }
  let judged: Judged | undefined
  const pairing = await attempt(PROOF, async () => {
    judged = await judge(file, service, now)
    if (judged === undefined)
      return refuse(PROOF, 'SIGNAL_COUNT', 'No circuit of the service has as many public signals.')
    const { circuitId, judgement } = judged
    return judgement.valid
      ? pass(PROOF, `The Groth16 proof holds under the key that the service publishes for ${circuitId}.`)
      : refuse(
          PROOF,
          judgement.reasons[0] ?? 'PROOF_INVALID',
          `The Groth16 proof does not hold under the key of ${circuitId}: proof or public signals were changed, or are none.`,
        )
  })
  if (judged === undefined || pairing.outcome !== 'passed') return { what: WHAT, checks: [pairing], meaning }
  const { circuitId, judgement } = judged
  const issued = await issuedChecks({ circuitId, publicSignals: file.publicSignals }, service, now)
  return {
    what: WHAT,
    checks: [
      pairing,
      ...toldCheck(judgement),
      ...freshness(circuitId, file.publicSignals, now),
      ...issued,
      USE,
    ],
    facts: factsOf(circuitId, judgement),
    meaning: meaningOf(judgement.says),
    notChecked: [...notChecked(circuitId, file, false), UNKNOWN_SETUP],
  }
}
