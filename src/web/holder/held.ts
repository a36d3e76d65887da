/** What somebody holds, once it is unlocked. @module */
import type { Credential } from '../../circuits/credential.ts'
import type { Holder } from '../../circuits/holder.ts'

/** A holder whose passphrase was given. */
export interface OpenHolder {
  readonly holder: Holder
  readonly credentials: readonly Credential[]
}

/** The secret that a proof takes; a bearer credential brings its own. */
export const secretFor = ({ holder }: OpenHolder, { binding }: Credential): bigint | undefined =>
  binding === 'holder' ? holder.secret : undefined

/** Something is wrong with what was typed or chosen; the message is for people. */
export class WalletError extends Error {
  override readonly name = 'WalletError'
}
