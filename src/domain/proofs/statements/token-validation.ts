/** What the service knows of `token_validation`: the token's issuer is its own, the audience is the one that asks. @module */
import type { Caller } from '../../../caller.ts'
import { type TokenFields, tokenMessage } from '../../../circuits/issuer-signature.ts'
import { tokenValidation } from '../../../circuits/mappers/token_validation.ts'
import { AppError } from '../../../errors.ts'
import type { Issuer } from '../../../keys/issuer.ts'
import { h248 } from '../../../rules/encode.ts'
import { type Facts, unexpected } from '../../../rules/expectation.ts'
import type { TokensService } from '../../tokens/service.ts'
import { falseStatement, type IssuerLookup, type Statement } from '../statement.ts'
import { TokenInputs } from './schemas-inputs.ts'
import {
  demandIssued,
  element,
  elements,
  keyReasons,
  mismatch,
  numbers,
  type Signed,
  signatureOf,
} from './signed.ts'

interface Deps {
  readonly issuer: Pick<Issuer, 'current' | 'isValid'>
  readonly tokens: Pick<TokensService, 'forCircuit'>
  readonly issuerOf: IssuerLookup
}

/** Stands for no audience: only a token that is for any has it. */
const ANY_AUDIENCE = 0n
const MS_PER_SECOND = 1000

interface Asked extends Signed {
  readonly token: TokenFields
  readonly audience: bigint
  /** Of the token. */
  readonly facts: Facts
}

export const tokenValidationStatement = ({ issuer, tokens, issuerOf }: Deps): Statement => {
  /** What neither expired nor fails its audience, and yet isn't valid, the circuit knows nothing of. */
  const issued = async (caller: Caller, given: Exclude<TokenInputs, { secret: string }>): Promise<Asked> => {
    const isText = 'token' in given
    const found = await tokens.forCircuit(caller, isText ? given.token : given.tokenId).catch((error) => {
      if (isText && error instanceof AppError && error.code === 'not_found')
        throw falseStatement('This is no token that was issued to your organisation.', error)
      throw error
    })
    const { token, signature, issuer: point, status, facts } = found
    if (status === 'revoked' || status === 'used') throw falseStatement(`The token is ${status}.`)
    const audience = given.audience === undefined ? ANY_AUDIENCE : h248(given.audience)
    return { token, signature, issuer: point, audience, facts }
  }

  const raw = async (given: Extract<TokenInputs, { secret: string }>): Promise<Asked> => {
    const token: TokenFields = {
      ...elements(['tokenId', 'subject', 'claims', 'secret'], given),
      ...numbers(['issuedAt', 'expiresAt'], given),
      audience: element('tokenAudience', given.tokenAudience),
    }
    const signed = await signatureOf(issuer, given)
    const audience = given.audience === undefined ? ANY_AUDIENCE : element('audience', given.audience)
    const facts = {
      audience: { element: String(token.audience) },
      max_age_seconds: Number(token.issuedAt) * MS_PER_SECOND,
    }
    return { token, ...signed, audience, facts }
  }

  return {
    circuit: tokenValidation,
    decision: 'token_valid',
    nullifier: 'nullifier',
    inputs: TokenInputs,
    vouched: {
      issuer: async ({ publicSignals }) =>
        (await issuerOf(tokenValidation.id, tokenValidation.read(publicSignals).nullifier))?.organisation,
      sentence: () => 'Holds a valid token.',
      isPerson: () => true,
    },

    async prepare(caller, inputs, at) {
      // They fit the schema.
      const given = inputs as TokenInputs
      const asked = await ('secret' in given ? raw(given) : issued(caller, given))
      await demandIssued(issuer, tokenMessage(asked.token), asked, at)
      return {
        statement: { audience: String(asked.audience) },
        differs: (expect, now) => unexpected(expect, asked.facts, now),
        signals({ ctx, now }) {
          const values = { ...asked, now, ctx }
          return {
            publicSignals: tokenValidation.publicSignals(values),
            witness: tokenValidation.witnessInput(values),
          }
        },
      }
    },

    async check({ publicSignals, statement, now }) {
      const { issuerX, issuerY, audience } = tokenValidation.read(publicSignals)
      return [
        ...(await keyReasons(issuer, { x: issuerX, y: issuerY }, now, 'ISSUER_UNKNOWN')),
        ...mismatch(statement, { audience }, 'AUDIENCE_MISMATCH'),
      ]
    },
  }
}
