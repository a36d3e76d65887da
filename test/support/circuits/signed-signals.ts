/** Things that the app's issuer has signed, as raw inputs of their circuits. */
import { randomBytes } from 'node:crypto'
import { systemCaller } from '../../../src/caller.ts'
import {
  type ConsentFields,
  consentMessage,
  type IssuerPoint,
  type IssuerSignature,
  type KycCredential,
  kycMessage,
  type TokenFields,
  tokenMessage,
} from '../../../src/circuits/issuer-signature.ts'
import { createCredentials } from '../../../src/domain/kyc/credential.ts'
import { type CheckRecord, createPersonKeys } from '../../../src/domain/kyc/person-records.ts'
import { newId } from '../../../src/ids.ts'
import { eddsaKey } from '../../../src/keys/eddsa-poseidon.ts'
import { createSealing } from '../../../src/keys/sealing.ts'
import { encodeValue, h248 } from '../../../src/rules/encode.ts'
import type { TestApp } from '../app.ts'
import { randomElement } from '../elements.ts'

/** Whoever signs. */
interface Signer {
  readonly point: IssuerPoint
  sign(message: bigint): IssuerSignature
}

type Signals = Record<string, string | string[]>

/** A key that is not the service's. */
export const foreignIssuer = (): Signer => eddsaKey(new Uint8Array(randomBytes(32)))

const DAY_SECONDS = 86_400
const nowSeconds = (app: TestApp): bigint => BigInt(Math.floor(app.services.clock.now() / 1000))

const texts = (fields: Readonly<Record<string, bigint | readonly bigint[]>>): Signals =>
  Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [
      name,
      typeof value === 'bigint' ? String(value) : value.map(String),
    ]),
  )

const signedBy = ({ point, sign }: Signer, message: bigint): Signals =>
  texts({ ...sign(message), issuerX: point.x, issuerY: point.y })

/** As if the service had issued it to somebody: it knows by these rows what it says, and that nothing became of it since. */
const issueCredential = async (
  { config, services }: TestApp,
  credential: KycCredential,
  { point, sign }: Signer,
  organisation: string,
): Promise<void> => {
  const { knex } = services.database
  const sealing = createSealing(config.masterKey)
  const { digestOf } = createCredentials(sealing)
  const person = { organisation, subject: randomBytes(32).toString('hex'), generation: 1 }
  const id = newId('kyc', 0)
  const { key, sealedKey } = createPersonKeys(sealing).create(person)
  const message = kycMessage(credential)
  const record: CheckRecord = {
    userId: 'somebody',
    provider: 'internal',
    status: 'verified',
    level: 'standard',
    checks: [],
    providerReference: null,
    checkedAt: 0,
    expiresAt: Number(credential.expiresAt) * 1000,
    data: {},
    birthDate: '1990-01-01',
    country: 'GB',
    salt: '',
    issued: { credential, signature: sign(message), issuer: point },
  }
  await knex('kyc_subjects').insert({ ...person, sealed_key: sealedKey, conclusive_entry: 0 })
  await knex('kyc_checks').insert({
    ...person,
    id,
    entry_index: 0,
    sealed: Buffer.from(key.seal(id, record)),
    checked_at: 0,
  })
  await knex('kyc_credentials').insert({
    ...person,
    digest: digestOf(message),
    entry_index: 0,
    element: String(credential.subject),
  })
}

/** A credential of somebody born in 1990 in GB at level 2, asked for level 1, adults, and GB. */
export const kycSignals = async (
  app: TestApp,
  changes: Partial<KycCredential> = {},
  signer?: Signer,
  organisation = 'org_test',
): Promise<Signals> => {
  const credential: KycCredential = {
    subject: randomElement(),
    birthDate: 19_900_101n,
    country: encodeValue('GB'),
    level: 2n,
    expiresAt: nowSeconds(app) + BigInt(DAY_SECONDS),
    secret: randomElement(),
    ...changes,
  }
  const asked = {
    minLevel: 1n,
    latestBirthDate: 20_071_231n,
    countries: [encodeValue('GB'), encodeValue('FR')],
  }
  const by = signer ?? (await app.services.issuer.current())
  if (signer === undefined) await issueCredential(app, credential, by, organisation)
  return { ...texts({ ...credential, ...asked }), ...signedBy(by, kycMessage(credential)) }
}

/** A token for any audience that is valid for an hour. */
export const tokenSignals = async (
  app: TestApp,
  changes: Partial<TokenFields> = {},
  signer?: Signer,
): Promise<Signals> => {
  const token: TokenFields = {
    tokenId: randomElement(),
    subject: randomElement(),
    audience: 0n,
    claims: randomElement(),
    issuedAt: nowSeconds(app),
    expiresAt: nowSeconds(app) + 3600n,
    secret: randomElement(),
    ...changes,
  }
  const { audience: tokenAudience, ...rest } = token
  const by = signer ?? (await app.services.issuer.current())
  return { ...texts({ ...rest, tokenAudience }), ...signedBy(by, tokenMessage(token)) }
}

export const CONTROLLER = h248('controller-1')
export const PURPOSE = h248('marketing')

/** A consent to one purpose that is given for a day, asked for that purpose by its controller. */
export const consentSignals = async (
  app: TestApp,
  changes: Partial<ConsentFields> = {},
  signer?: Signer,
): Promise<Signals> => {
  const consent: ConsentFields = {
    subject: randomElement(),
    secret: randomElement(),
    controller: CONTROLLER,
    purposes: [PURPOSE, ...Array<bigint>(7).fill(0n)],
    from: nowSeconds(app),
    to: nowSeconds(app) + BigInt(DAY_SECONDS),
    ...changes,
  }
  const { controller: consentController, ...rest } = consent
  const by = signer ?? (await app.services.issuer.current())
  return {
    ...texts({ ...rest, consentController, controller: CONTROLLER, purpose: PURPOSE }),
    ...signedBy(by, consentMessage(consent)),
  }
}

/** Those of a consent that the service has recorded: whoever has them can leave its id out of what he has proved. */
export const loggedConsentSignals = async (
  { services }: TestApp,
  organisation: string,
  consentId: string,
  purpose: string,
): Promise<Signals> => {
  const caller = systemCaller(organisation, 'test')
  const found = await services.consents.forCircuit(caller, { consent: { consentId }, purpose })
  if ('refused' in found) throw new Error(`no signals: ${found.refused}`)
  const { controller: consentController, ...rest } = found.consent
  return {
    ...texts({ ...rest, consentController, controller: found.controller, purpose: found.purpose }),
    ...texts({ ...found.signature, issuerX: found.issuer.x, issuerY: found.issuer.y }),
  }
}
