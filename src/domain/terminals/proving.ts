/**
 * What terminals are known by inside proofs. A terminal is registered with the commitment to its secret, which the
 * service only sees when the terminal is made and when it authenticates. For payments that the service proves itself
 * it has a secret of its own for each origin, which nobody else can know and which is never stored.
 * @module
 */
import { terminalCommitment, terminalSecretElement } from '../../circuits/mappers/terminal-secret.ts'
import type { Sealing } from '../../keys/sealing.ts'
import { h248 } from '../../rules/encode.ts'
import type { Database } from '../../store/database.ts'
import * as store from './store.ts'

const PURPOSE = 'terminal-proving'

interface Deps {
  readonly database: Database
  readonly sealing: Pick<Sealing, 'mac'>
}

/** A payment's merchant and who presented it. */
export interface Presenter {
  readonly merchant: string
  /** The terminal (`ter_…`) or API key (`key_…`). */
  readonly origin: string
}

/** What a terminal with this secret is registered with: a canonical decimal. */
export const registration = (terminalSecret: string): string =>
  terminalCommitment(terminalSecretElement(terminalSecret)).toString()

export const createTerminalProving = ({ database, sealing }: Deps) => {
  const ownSecret = (organisation: string, origin: string): bigint =>
    h248(sealing.mac(PURPOSE, Buffer.from(JSON.stringify([organisation, origin]))))

  return {
    /** The secret element with which the service proves payments that this terminal or key presented. */
    ownProvingSecret: ownSecret,

    /**
     * Whether a proof with this commitment may speak for a payment: it is that of the terminal which presented it (of
     * any terminal of its merchant where a key did), in use now, or the service's own.
     */
    async isRegistered(
      organisation: string,
      { merchant, origin }: Presenter,
      commitment: bigint,
    ): Promise<boolean> {
      if (commitment === terminalCommitment(ownSecret(organisation, origin))) return true
      const found = await store.findByCommitment(database, organisation, commitment.toString())
      return found.some(({ id, merchant: own }) => id === origin || (!isTerminal(origin) && own === merchant))
    },
  }
}

const isTerminal = (origin: string): boolean => origin.startsWith('ter_')
