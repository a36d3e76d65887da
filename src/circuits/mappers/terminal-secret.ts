/**
 * A terminal's secret inside proofs, and how the public signals of `offline_validation` name terminal and card. The
 * terminal and the server compute the same of the same secret.
 * @module
 */
import { POSEIDON_TAGS } from '../../core/poseidon-tags.ts'
import { h248 } from '../../rules/encode.ts'
import { poseidon } from '../field.ts'

const DOMAIN = 'terminal-proving/1'
const NULLIFIER_BYTES = 32
/** Bytes of a SHA-256 that fit into an element whatever they are. */
const H248_BYTES = 31

/** The element that proofs keep secret: h248("terminal-proving/1" ‖ secret). @param terminalSecret as it was shown once */
export const terminalSecretElement = (terminalSecret: string): bigint => h248(DOMAIN + terminalSecret)

/** What a terminal is known by inside proofs: Poseidon[TERMINAL](secret element). */
export const terminalCommitment = (secretElement: bigint): bigint =>
  poseidon(POSEIDON_TAGS.TERMINAL, [secretElement])

/**
 * The first 31 bytes of a card token's nullifier, big-endian.
 * @param nullifier SHA-256 of the card token, 32 bytes
 * @throws RangeError for another length
 */
export const cardNullifierElement = (nullifier: Uint8Array): bigint => {
  if (nullifier.length !== NULLIFIER_BYTES) throw new RangeError(`nullifier must be ${NULLIFIER_BYTES} bytes`)
  let element = 0n
  for (const byte of nullifier.subarray(0, H248_BYTES)) element = (element << 8n) | BigInt(byte)
  return element
}
