/** To whom things are issued: a holder who keeps a secret, or whoever bears the secret that is made here. @module */
import { randomBytes } from 'node:crypto'
import { holderCommitment } from '../../circuits/holder-commitment.ts'
import type { IssuedTo } from '../../circuits/kept-recipient.ts'
import { FIELD_MODULUS } from '../../core/field.ts'
import { AppError, fail } from '../../errors.ts'
import type { SubjectPseudonyms } from '../../keys/subject-pseudonyms.ts'
import { CLAIM_KINDS } from '../../ledger/claim-kinds.ts'
import type { Tx } from '../../ledger/decision.ts'
import { organisationElement } from '../../rules/encode.ts'
import type { StatusesService } from '../status/service.ts'

const SECRET_BYTES = 31
/** Keeps pseudonyms of holders apart from those of other records: one person has one, whatever is issued to them. */
const PSEUDONYM_KIND = 'holder'
const { holderBound: BOUND } = CLAIM_KINDS

/** What proofs can be made of here. */
export type Provable<T extends { readonly secret: bigint | undefined }> = T & { readonly secret: bigint }

/** Whom something is about to be issued to. */
export interface Recipient extends IssuedTo {
  /**
   * Binds the holder's commitment to the person, in the commit of what is issued.
   * @throws AppError conflict, reason HOLDER_TAKEN, where it is another person's
   */
  bind(tx: Tx): void
}

interface HoldersDeps {
  readonly subjects: SubjectPseudonyms
  readonly statuses: Pick<StatusesService, 'reserve'>
}

/** @throws AppError validation_failed */
const readHolder = (holder: string): bigint => {
  const commitment = BigInt(`0x${holder}`)
  if (commitment !== 0n && commitment < FIELD_MODULUS) return commitment
  const message = 'must not be 0, and be below the order of the BN254 scalar field'
  return fail('validation_failed', { details: [{ path: '/holder', code: 'out_of_range', message }] })
}

export type HoldersService = ReturnType<typeof createHolders>

export const createHolders = ({ subjects, statuses }: HoldersDeps) => {
  /** Whoever has the secret, which is made here. */
  const bearer = async (organisation: string): Promise<Recipient> => {
    const element = organisationElement(organisation, 'bearer')
    const secret = BigInt(`0x${randomBytes(SECRET_BYTES).toString('hex')}`)
    const status = BigInt(await statuses.reserve())
    return {
      issued: { holder: holderCommitment(secret, element), organisation: element, status },
      secret,
      bind: () => undefined,
    }
  }

  return {
    bearer,

    /** @throws AppError inputs_insufficient, reason HOLDER_BOUND, where only the holder knows it */
    secretOf({ secret }: Pick<IssuedTo, 'secret'>): bigint {
      if (secret !== undefined) return secret
      throw new AppError('inputs_insufficient', {
        message: 'It was issued to a holder, who alone knows the secret that a proof takes.',
        reason: 'HOLDER_BOUND',
      })
    },

    /**
     * @param person as the organisation calls them @param holder 64 hex digits; absent: whoever bears the secret
     * @throws AppError validation_failed for a commitment that is none
     */
    async recipient(organisation: string, person: string, holder: string | undefined): Promise<Recipient> {
      if (holder === undefined) return bearer(organisation)
      const commitment = readHolder(holder)
      const pseudonym = await subjects.of(organisation, PSEUDONYM_KIND, person)
      const status = BigInt(await statuses.reserve())
      return {
        issued: { holder: commitment, organisation: organisationElement(organisation, 'holder'), status },
        secret: undefined,
        bind(tx) {
          const held = tx.holder(BOUND, holder)
          if (held === undefined) tx.claim(BOUND, holder, pseudonym)
          else if (held.holder !== pseudonym)
            fail('conflict', {
              message: 'The holder is another person of your organisation.',
              reason: 'HOLDER_TAKEN',
            })
        },
      }
    },
  }
}
