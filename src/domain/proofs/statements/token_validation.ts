/** What the service knows of `token_validation`: the token's issuer is its own, the audience is the one that asks. @module */
import Type, { type Static } from 'typebox'
import type { Caller } from '../../../caller.ts'
import { type TokenFields, tokenMessage } from '../../../circuits/issuer-signature.ts'
import { tokenValidation } from '../../../circuits/mappers/token_validation.ts'
import { AppError } from '../../../errors.ts'
import { askedId } from '../../../json/schemas.ts'
import type { Issuer } from '../../../keys/issuer.ts'
import { h248 } from '../../../rules/encode.ts'
import { type Facts, unexpected } from '../../../rules/expectation.ts'
import { asIssued } from '../../tokens/schemas.ts'
import type { TokensService } from '../../tokens/service.ts'
import { falseStatement, type IssuerLookup, type Statement } from '../statement.ts'
import { askedIn, circuitQuestion, EXPECTED, WHOLE } from './question.ts'
import { CLOSED, expecting, issuedSignals, Signal, signalsForm, signature, withAnswer } from './schemas.ts'
import {
  demandIssued,
  element,
  elements,
  isIssuedOver,
  keyReasons,
  mismatch,
  numbers,
  recipientOf,
  type Signed,
  signatureOf,
} from './signed.ts'

const MAX_TOKEN_CHARACTERS = 8192
const MAX_AUDIENCE_CHARACTERS = 256

const Token = Type.String({
  minLength: 1,
  maxLength: MAX_TOKEN_CHARACTERS,
  description: 'Compact JWS of POST /api/tokens/generate.',
})
const TokenId = askedId('tok')
export const Audience = Type.String({
  minLength: 1,
  maxLength: MAX_AUDIENCE_CHARACTERS,
  description: 'Your identity as a verifier. Without it only tokens for any audience are valid.',
})

const TokenSignals = Type.Object(
  {
    tokenId: Signal,
    subject: Signal,
    tokenAudience: Signal,
    claims: Signal,
    issuedAt: Signal,
    expiresAt: Signal,
    secret: Signal,
    ...issuedSignals,
    ...signature,
    audience: Type.Optional(Signal),
  },
  { title: 'TokenSignals', description: "A token's fields with their signature, and the audience." },
)
const ByToken = Type.Object({ token: Token, audience: Type.Optional(Audience) }, CLOSED)
const ByTokenId = Type.Object({ tokenId: TokenId, audience: Type.Optional(Audience) }, CLOSED)

/** The first two are closed, so that inputs with a `secret` are signals. */
const TokenInputs = Type.Union([ByToken, ByTokenId, TokenSignals])
type TokenInputs = Static<typeof TokenInputs>

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
  readonly secret: bigint
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
    if (found.ended) throw falseStatement(`The token is ${found.ended}.`)
    return { ...found, audience: given.audience === undefined ? ANY_AUDIENCE : h248(given.audience) }
  }

  const raw = async (given: Extract<TokenInputs, { secret: string }>): Promise<Asked> => {
    const token: TokenFields = {
      ...elements(['tokenId', 'subject', 'claims'], given),
      ...numbers(['issuedAt', 'expiresAt'], given),
      audience: element('tokenAudience', given.tokenAudience),
      ...recipientOf(given),
    }
    const { secret } = elements(['secret'], given)
    const signed = await signatureOf(issuer, given)
    const audience = given.audience === undefined ? ANY_AUDIENCE : element('audience', given.audience)
    const facts = {
      audience: { element: String(token.audience) },
      max_age_seconds: Number(token.issuedAt) * MS_PER_SECOND,
    }
    return { token, secret, ...signed, audience, facts }
  }

  return {
    circuit: tokenValidation,
    decision: 'token_valid',
    spends: 'disclosedStatus',
    issuerSpends: true,
    status: 'required',
    inputs: TokenInputs,
    vouched: {
      issuer: async ({ publicSignals }) =>
        (await issuerOf(tokenValidation.id, tokenValidation.read(publicSignals).disclosedStatus))
          ?.organisation,
      sentence: () => 'Holds a valid token.',
      isPerson: () => true,
    },

    async prepare(caller, inputs, at) {
      // They fit the schema.
      const given = inputs as TokenInputs
      const asked = await ('secret' in given ? raw(given) : issued(caller, given))
      await demandIssued(issuer, caller, asked.token, tokenMessage(asked.token), asked, at)
      return {
        statement: { audience: String(asked.audience), disclose: '1' },
        differs: (expect, now) => unexpected(expect, asked.facts, now),
        signals({ ctx, now }) {
          const values = { ...asked, disclose: true, now, ctx }
          return {
            publicSignals: tokenValidation.publicSignals(values),
            witness: tokenValidation.witnessInput(values),
          }
        },
      }
    },

    isOver: (publicSignals, now) =>
      isIssuedOver(issuerOf, tokenValidation.id, tokenValidation.read(publicSignals).disclosedStatus, now),

    async check({ publicSignals, statement, now }) {
      const { issuerX, issuerY, audience } = tokenValidation.read(publicSignals)
      return [
        ...(await keyReasons(issuer, { x: issuerX, y: issuerY }, now, 'ISSUER_UNKNOWN')),
        ...mismatch(statement, { audience }, 'AUDIENCE_MISMATCH'),
      ]
    },
  }
}

export const tokenValidationQuestion = circuitQuestion({
  circuit: tokenValidation.id,
  name: 'validateTokenByCircuit',
  summary: 'Prove that a signed token is valid',
  description: `Send \`token\`, \`tokenId\` or \`inputs\`. The proof shows neither subject nor claims; its nullifier is the same for every proof of the token. ${WHOLE} ${EXPECTED}`,
  body: Type.Union([
    expecting(withAnswer(asIssued, ByToken)),
    expecting(ByTokenId),
    expecting(signalsForm(TokenSignals)),
  ]),
  field: 'token_valid',
  title: 'TokenValidation',
  isTrue:
    'The token was issued by this service, has not expired, is for this audience or for any, and was neither revoked nor used.',
  errors: ['read_only'],
  example: {
    body: {
      tokenId: '{tokenId}',
      audience: 'https://gate.example',
      expect: { status: 'active', max_age_seconds: 86_400 },
    },
  },
  async asked(body, caller, { tokens }) {
    if (!('token' in body)) return askedIn(body)
    await tokens.requireIssued(caller, body)
    const { token, audience, expect } = body
    return { inputs: { token, audience }, expect }
  },
})
