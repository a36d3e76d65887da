/** Things that the app's issuer has signed, as raw inputs of their circuits. */
import { randomBytes } from 'node:crypto'
import { systemCaller } from '../../../src/caller.ts'
import { holderCommitment } from '../../../src/circuits/holder-commitment.ts'
import {
  type ConsentFields,
  consentMessage,
  type Issued,
  type IssuerPoint,
  type IssuerSignature,
  type KycCredential,
  kycMessage,
  type TokenFields,
  tokenMessage,
} from '../../../src/circuits/issuer-signature.ts'
import { eddsaKey } from '../../../src/keys/eddsa-poseidon.ts'
import { encodeValue, h248, organisationElement } from '../../../src/rules/encode.ts'
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

/** As if the service had issued it: proofs of it lead to the organisation. */
const issue = async (
  { services }: TestApp,
  circuit_id: string,
  status: bigint,
  organisation: string,
): Promise<void> => {
  await services.database
    .knex('issued_nullifiers')
    .insert({ circuit_id, nullifier: String(status), organisation })
}

/** A bearer of something, with what the issuer signs of them. */
const bearerOf = async (
  { services }: TestApp,
  organisation: string,
  secret = randomElement(),
): Promise<{ secret: bigint; issued: Issued }> => {
  const element = organisationElement(organisation, 'bearer')
  const status = BigInt(await services.statuses.reserve())
  return { secret, issued: { holder: holderCommitment(secret, element), organisation: element, status } }
}

/** Without `holder`, which follows from the others. */
const given = <F extends Issued>({ holder: _, ...fields }: F): Omit<F, 'holder'> => fields

/** A credential of somebody born in 1990 in GB at level 2, asked for level 1, adults, and GB. */
export const kycSignals = async (
  app: TestApp,
  organisation: string,
  changes: Partial<KycCredential> = {},
  signer?: Signer,
): Promise<Signals> => {
  const { secret, issued } = await bearerOf(app, organisation)
  const credential: KycCredential = {
    subject: randomElement(),
    birthDate: 19_900_101n,
    country: encodeValue('GB'),
    level: 2n,
    expiresAt: nowSeconds(app) + BigInt(DAY_SECONDS),
    ...issued,
    ...changes,
  }
  const asked = {
    minLevel: 1n,
    latestBirthDate: 20_071_231n,
    countries: [encodeValue('GB'), encodeValue('FR')],
  }
  const by = signer ?? (await app.services.issuer.current())
  if (signer === undefined) await issue(app, 'kyc', credential.status, organisation)
  return { ...texts({ ...given(credential), secret, ...asked }), ...signedBy(by, kycMessage(credential)) }
}

/** Whoever bears the credential of `kycSignals`. */
export const bearerFrom = (organisation: string, signals: Signals) => {
  const text = (name: string) => String(signals[name])
  const texts = (...names: string[]) => Object.fromEntries(names.map((name) => [name, text(name)]))
  const secret = BigInt(text('secret'))
  const holder = String(holderCommitment(secret, BigInt(text('organisation'))))
  const fields = texts('subject', 'birthDate', 'country', 'level', 'expiresAt', 'organisation', 'status')
  const {
    r8x = '',
    r8y = '',
    s = '',
    issuerX = '',
    issuerY = '',
  } = texts('r8x', 'r8y', 's', 'issuerX', 'issuerY')
  return {
    holder: { secret, holder, organisation },
    credential: {
      circuit: 'kyc' as const,
      binding: 'bearer' as const,
      organisation,
      fields: { ...fields, holder },
      signature: { r8x, r8y, s, issuerX, issuerY },
    },
  }
}

/** A token for any audience that is valid for an hour. */
export const tokenSignals = async (
  app: TestApp,
  organisation: string,
  changes: Partial<TokenFields> & { readonly secret?: bigint } = {},
  signer?: Signer,
): Promise<Signals> => {
  const { secret: own, ...fields } = changes
  const { secret, issued } = await bearerOf(app, organisation, own)
  const token: TokenFields = {
    tokenId: randomElement(),
    subject: randomElement(),
    audience: 0n,
    claims: randomElement(),
    issuedAt: nowSeconds(app),
    expiresAt: nowSeconds(app) + 3600n,
    ...issued,
    ...fields,
  }
  const { audience: tokenAudience, ...rest } = given(token)
  const by = signer ?? (await app.services.issuer.current())
  return { ...texts({ ...rest, secret, tokenAudience }), ...signedBy(by, tokenMessage(token)) }
}

export const CONTROLLER = h248('controller-1')
export const PURPOSE = h248('marketing')

/** A consent to one purpose that is given for a day, asked for that purpose by its controller. */
export const consentSignals = async (
  app: TestApp,
  organisation: string,
  changes: Partial<ConsentFields> = {},
  signer?: Signer,
): Promise<Signals> => {
  const { secret, issued } = await bearerOf(app, organisation)
  const consent: ConsentFields = {
    subject: randomElement(),
    controller: CONTROLLER,
    purposes: [PURPOSE, ...Array<bigint>(7).fill(0n)],
    from: nowSeconds(app),
    to: nowSeconds(app) + BigInt(DAY_SECONDS),
    ...issued,
    ...changes,
  }
  const { controller: consentController, ...rest } = given(consent)
  const by = signer ?? (await app.services.issuer.current())
  return {
    ...texts({ ...rest, secret, consentController, controller: CONTROLLER, purpose: PURPOSE }),
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
  const { controller: consentController, ...rest } = given(found.consent)
  return {
    ...texts({
      ...rest,
      secret: found.secret,
      consentController,
      controller: found.controller,
      purpose: found.purpose,
    }),
    ...texts({ ...found.signature, issuerX: found.issuer.x, issuerY: found.issuer.y }),
  }
}
