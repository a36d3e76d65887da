/** Checks a proof in the browser: what it shows by itself, and whether that is what it is listed as. @module */
import { circuitOf } from '../../../circuits/catalogue.ts'
import { proofFacts } from '../../../circuits/proof-facts.ts'
import { readVerificationKey, verifyPairing } from '../../../circuits/verifier.ts'
import type { KnownProof } from '../../../domain/proofs/schemas-list.ts'
import { decodeZk1, proofDigest } from '../../../protocol/zk1.ts'
import { type Finding, failed, passed, skipped } from '../../result/finding.ts'
import { published } from '../../result/published.ts'
import type { TitledFinding } from '../parts/findings.tsx'

/** What a proof shows, as far as this browser could check it. */
export interface Shown {
  readonly findings: readonly TitledFinding[]
  /** Of the circuit, in its own words. */
  readonly proves: string | undefined
  readonly checks: readonly string[]
  /** Public signals by their names. */
  readonly signals: readonly (readonly [name: string, value: string])[]
  /** What was asked, where the proof is bound to it. */
  readonly stated: Readonly<Record<string, unknown>> | null
}

const pairingOf = async ({ circuitId, proof, publicSignals }: KnownProof): Promise<Finding> => {
  const read = decodeZk1(proof)
  if (read === undefined) return failed('What is on record is no proof.')
  const isIt =
    read.publicSignals.length === publicSignals.length &&
    publicSignals.every((signal, place) => signal === read.publicSignals[place])
  if (!isIt) return failed('The public signals beside the proof are not those inside of it.')
  const key = readVerificationKey(await published.verificationKey(circuitId))
  if (key === undefined) return failed('What the service publishes as the circuit’s key is none.')
  const verdict = await verifyPairing(key, read.proof, read.publicSignals)
  return verdict.valid
    ? passed(`It holds under the key of ${circuitId} that the service publishes.`)
    : failed(
        `It does not hold: ${verdict.reason}. It may have been made for an earlier version of the circuit.`,
      )
}

const contextOf = (proof: KnownProof, isBound: boolean): Finding => {
  if (proof.context === null) return skipped('What it was made for is not on record.')
  return isBound
    ? passed(
        `Its signal ctx is the hash of what is said below, of the organisation ${proof.context.org} that asked and of the nonce ${proof.context.nonce}.`,
      )
    : failed('Its signal ctx is not the hash of what is said to have been asked.')
}

const decisionOf = ({ decision }: KnownProof, shown: 0 | 1 | null): Finding => {
  const word = shown === null ? null : shown === 1 ? 'YES' : 'NO'
  if (word !== decision)
    return failed(`The list says ${decision ?? 'nothing'}, and the proof ${word ?? 'nothing'}.`)
  return word === null ? skipped('It answers no question.') : passed(`It shows a ${word}.`)
}

/** Its signals have other names, which are not known here. */
const FORMER = skipped(
  'It is of a version of the circuit that was replaced: what its signals say is not known here.',
)

/** @throws UnreachableError when the key can't be had */
export const examineProof = async (proof: KnownProof): Promise<Shown> => {
  const { circuitId, publicSignals, context, digest, merkleIndex } = proof
  const circuit = circuitOf(circuitId, publicSignals)
  const facts = proofFacts({ circuitId, publicSignals, context })
  const isBound = facts.statement !== null
  return {
    findings: [
      { title: 'Groth16 proof', ...(await pairingOf(proof)) },
      {
        title: 'Digest',
        ...(proofDigest(circuitId, publicSignals) === digest
          ? passed('Circuit and public signals have the digest that is spent and logged.')
          : failed('Circuit and public signals have another digest than the list says.')),
      },
      { title: 'What it was made for', ...(circuit ? contextOf(proof, isBound) : FORMER) },
      { title: 'Decision', ...(circuit ? decisionOf(proof, facts.decision as 0 | 1 | null) : FORMER) },
      {
        title: 'Entry in the log',
        ...skipped(`It is entry ${merkleIndex}: Log checks its place.`),
      },
      {
        title: 'Whether it still counts',
        ...skipped('Only the service knows what was spent or revoked: ask it below.'),
      },
    ],
    proves: circuit?.proves,
    checks: circuit?.checks ?? [],
    signals: publicSignals.map((value, place) => [circuit?.publicNames[place] ?? String(place), value]),
    stated: isBound && context ? context.statement : null,
  }
}
