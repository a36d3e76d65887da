/** People who keep credentials of their own, and prove with them where no service sees it. @module */
import { randomUUID } from 'node:crypto'
import { type AskedContext, answerOf } from '../../../src/circuits/answer.ts'
import type { WitnessInput } from '../../../src/circuits/circuit.ts'
import {
  type Credential,
  type CredentialCircuit,
  credentialValues,
} from '../../../src/circuits/credential.ts'
import { createHolder, type Holder } from '../../../src/circuits/holder.ts'
import { kyc } from '../../../src/circuits/mappers/kyc.ts'
import { tokenValidation } from '../../../src/circuits/mappers/token_validation.ts'
import {
  type VerifiedPresentation,
  type VerifyOptions,
  verifyProof,
} from '../../../src/circuits/offline-verification.ts'
import { createProofMaker } from '../../../src/circuits/proving/groth16.ts'
import { createProving } from '../../../src/circuits/proving/proving.ts'
import type { KycData } from '../../../src/domain/kyc/schemas.ts'
import type {
  ChallengeMade,
  ChallengeTold,
  PublicChallenge,
} from '../../../src/domain/proofs/challenges/schemas.ts'
import { type ExpectedStatusList, readStatusList } from '../../../src/protocol/status-list.ts'
import type { SnarkProof } from '../../../src/protocol/zk1.ts'
import { contextElement, type ProofContext, scopeElement } from '../../../src/rules/encode.ts'
import type { TestApp, TestOrganisation } from '../app.ts'
import { artifacts } from '../circuits/circuits.ts'
import { demandSuccess, ok, type TestResponse } from '../client.ts'
import { ANNA } from './kyc.ts'
import type { Failed } from './proof-api.ts'

const MS_PER_SECOND = 1000

/** Somebody who keeps a credential. */
export interface Keeper {
  readonly userId: string
  readonly holder: Holder
  readonly credential: Credential
}

/** Verifies a person and gives the credential to a holder of theirs. */
export const keeperOf = async (
  app: TestApp,
  { apiKey: key, organisationId }: TestOrganisation,
  userId = `user-${randomUUID()}`,
  data: KycData = ANNA,
): Promise<Keeper> => {
  const holder = createHolder({ organisation: organisationId })
  const body = { userId, data, holder: holder.holder }
  const answer = demandSuccess(
    await app.request<{ credential: Credential }>('POST', '/api/kyc/verify', { key, body }),
  )
  return { userId, holder, credential: answer.credential }
}

/** A proof as somebody presents it. */
export interface Presented {
  readonly circuit_id: string
  readonly proof: SnarkProof
  readonly public_signals: readonly string[]
  readonly context: ProofContext
}

const statementOf = ({ statement }: ProofContext): Readonly<Record<string, unknown>> =>
  statement as Record<string, unknown>

const provers = {
  kyc: createProving(kyc, artifacts.kyc),
  token_validation: createProving(tokenValidation, artifacts.token_validation),
}

/** What is proved differently than the context says. */
export interface Otherwise {
  readonly ctx?: bigint
  readonly secret?: bigint
  readonly disclose?: boolean
  readonly unique?: boolean
}

/** Answers what a context asks with a credential for kyc. @param now Unix ms @throws RangeError where no proof exists */
export const proveKyc = async (
  { holder, credential }: Pick<Keeper, 'holder' | 'credential'>,
  context: ProofContext,
  now: number,
  { ctx, secret = holder.secret, disclose, unique }: Otherwise = {},
): Promise<Presented> => {
  const asked = statementOf(context)
  const { aud, org } = context
  const { credential: fields, ...held } = credentialValues(credential as Credential<'kyc'>, secret)
  const { proof, publicSignals } = await (await provers.kyc).prove({
    ...held,
    credential: fields,
    now: BigInt(Math.floor(now / MS_PER_SECOND)),
    minLevel: BigInt(String(asked.minLevel)),
    latestBirthDate: BigInt(String(asked.latestBirthDate)),
    countries: (asked.countries as string[]).map(BigInt).filter((country) => country !== 0n),
    unique: unique ?? asked.unique === '1',
    disclose: disclose ?? asked.disclose === '1',
    scope: scopeElement({ aud, org, purpose: String(asked.purpose) }),
    ctx: ctx ?? contextElement(context),
  })
  return { circuit_id: 'kyc', proof, public_signals: publicSignals, context }
}

/** The same for a token. */
export const proveToken = async (
  { holder, credential }: Pick<Keeper, 'holder' | 'credential'>,
  context: ProofContext,
  now: number,
): Promise<Presented> => {
  const { token, ...held } = credentialValues(credential as Credential<'token_validation'>, holder.secret)
  const { proof, publicSignals } = await (await provers.token_validation).prove({
    ...held,
    token,
    now: BigInt(Math.floor(now / MS_PER_SECOND)),
    audience: BigInt(String(statementOf(context).audience)),
    disclose: true,
    ctx: contextElement(context),
  })
  return { circuit_id: 'token_validation', proof, public_signals: publicSignals, context }
}

const makers = {
  kyc: createProofMaker(artifacts.kyc),
  token_validation: createProofMaker(artifacts.token_validation),
  consent_verification: createProofMaker(artifacts.consent_verification),
}

/** Whoever holds a credential of some circuit. */
export type Holding = Pick<Keeper, 'holder'> & { readonly credential: Credential<CredentialCircuit> }

/** What a holder's program puts into the circuit. @param now Unix ms @throws RangeError where no proof exists */
export const witnessFor = (
  { holder, credential }: Holding,
  context: ProofContext,
  now: number,
): WitnessInput =>
  answerOf(credential, holder.secret, context as AskedContext, BigInt(Math.floor(now / MS_PER_SECOND)))
    .witness

/** Answers a context of any circuit as holders' programs do. @param now Unix ms @throws RangeError where no proof exists */
export const answerWith = async (
  holding: Holding,
  context: ProofContext,
  now: number,
): Promise<Presented> => {
  const { circuit } = holding.credential
  const { proof, publicSignals } = await (await makers[circuit])(witnessFor(holding, context, now))
  return { circuit_id: circuit, proof, public_signals: publicSignals, context }
}

/** Verifies without asking about the proof, by what the service publishes for anybody. @param now Unix ms */
export const verifyOffline = async (
  app: TestApp,
  presented: Presented,
  options: Omit<VerifyOptions, 'keys' | 'now'> & { readonly now: number },
): Promise<VerifiedPresentation> => {
  const published = <T>(path: string): Promise<T> => ok(app, 'GET', path)
  const circuit = await published<VerifyOptions['keys']['circuit']>(
    `/api/circuits/${presented.circuit_id}/vkey`,
  )
  const issuer = await published<VerifyOptions['keys']['issuer']>('/.well-known/issuer-keys')
  const keys = await published<ExpectedStatusList['keys']>('/.well-known/jwks.json')
  const now = Math.floor(options.now / MS_PER_SECOND)
  const read = await readStatusList(await published('/status/0'), { keys, issuer: app.url, list: 0, now })
  if ('reason' in read) throw new Error(read.reason)
  const { statusList } = read
  return verifyProof(presented, { statusList, ...options, keys: { circuit, issuer } })
}

export const AGE_QUESTION = {
  circuit_id: 'kyc',
  inputs: { minLevel: 'basic', minAge: 18 },
  purpose: 'age-check',
} as const

/** The routes of challenges: those with a key as one organisation calls them. */
export const challengeRoutesOf = (app: TestApp, key: string) => {
  const path = '/v1/proofs/challenge'
  const create = (body: object = AGE_QUESTION): Promise<TestResponse<ChallengeMade & Failed>> =>
    app.request('POST', path, { key, body })
  return {
    create,
    asked: async (body?: object): Promise<ChallengeMade> => demandSuccess(await create(body)),
    find: (id: string): Promise<TestResponse<ChallengeTold & Failed>> =>
      app.request('GET', `${path}/${id}`, { key }),
    request: (id: string): Promise<TestResponse<PublicChallenge & Failed>> =>
      app.request('GET', `/challenge/${id}`),
    answer: (
      id: string,
      { proof, public_signals }: Pick<Presented, 'proof' | 'public_signals'>,
    ): Promise<TestResponse<{ status: string } & Failed>> =>
      app.request('POST', `${path}/${id}/answer`, { body: { proof, public_signals } }),
  }
}
