/** Credentials about people for wallets: SD-JWT VCs, bound to a key of the holder's. They are not kept. @module */
import { createPublicKey } from 'node:crypto'
import type { Caller } from '../../../caller.ts'
import { type Clock, iso } from '../../../clock.ts'
import type { CredentialCertificate } from '../../../config/credential-certificate.ts'
import { fail } from '../../../errors.ts'
import { thumbprint } from '../../../keys/jwks.ts'
import type { Sealing } from '../../../keys/sealing.ts'
import type { Signers } from '../../../keys/signers.ts'
import { CLAIM_KINDS } from '../../../ledger/claim-kinds.ts'
import type { Decide } from '../../../ledger/decision.ts'
import type { Ledger } from '../../../ledger/ledger.ts'
import type { StatusesService } from '../../status/service.ts'
import { dayNumber, dayOf, yearsBetween } from '../calendar-date.ts'
import { entrySubject, erasedClaim, succession } from '../erasure.ts'
import { birthDateOf } from '../person-records.ts'
import type { KycService } from '../service.ts'
import { createPossession, type ProvenKey } from './possession.ts'
import { type CredentialNonce, type IssueSdJwt, SD_JWT_FORMAT, type SdJwtIssued } from './schemas.ts'
import { type SdJwtContent, signerOf, writeSdJwt } from './sd-jwt.ts'
import { sdJwts } from './store.ts'
import { typeMetadata, typeOf } from './type-metadata.ts'

export interface SdJwtsDeps {
  readonly ledger: Pick<Ledger, 'append' | 'findAnswer'>
  readonly signers: Pick<Signers, 'current'>
  readonly sealing: Pick<Sealing, 'mac'>
  readonly statuses: Pick<StatusesService, 'reserve' | 'referenceTo'>
  readonly people: Pick<KycService, 'attested'>
  readonly clock: Clock
  readonly baseUrl: string
  /** Absent: the service signs with a key of its own, which is published. */
  readonly certificate: CredentialCertificate | undefined
}

const { kycCredentialNonce: NONCE } = CLAIM_KINDS
const MS_PER_SECOND = 1000
const [ADULT_YEARS, MAJORITY_YEARS] = [18, 21] as const
const WITHOUT_CERTIFICATE =
  'Signed with a key of /.well-known/jwks.json, without a certificate: wallets under HAIP take only credentials with one (CREDENTIAL_CERTIFICATE).'

type Attested = Awaited<ReturnType<KycService['attested']>>
/** What of a credential is decided in the commit. */
interface Issuing {
  readonly status: number
  /** Unix ms. */
  readonly at: number
  /** Entry of the check that it says the findings of; absent in what earlier versions stored. */
  readonly check?: number
}

const attributesOf = ({ record }: Attested, at: number): SdJwtContent['attributes'] => {
  const { data, country } = record
  const birthDate = birthDateOf(record)
  const years = birthDate === undefined ? undefined : yearsBetween(dayNumber(birthDate), dayNumber(dayOf(at)))
  return {
    given_name: data.givenName,
    family_name: data.familyName,
    birthdate: birthDate,
    country,
    ...(years !== undefined && { age_over_18: years >= ADULT_YEARS, age_over_21: years >= MAJORITY_YEARS }),
  }
}

const checkedAgain = (): never =>
  fail('conflict', { message: 'The person was checked again since; get a new credential.' })

const publishedKey = ({ key, x5c }: CredentialCertificate) => {
  const { x = '', y = '' } = createPublicKey(key).export({ format: 'jwk' })
  const jwk = { kty: 'EC', crv: 'P-256', x, y } as const
  const named = { alg: 'ES256', use: 'sig', kid: thumbprint(jwk) } as const
  return { ...jwk, ...named, x5c: [...x5c] }
}

export type SdJwtsService = ReturnType<typeof createSdJwts>

export const createSdJwts = (deps: SdJwtsDeps) => {
  const { ledger, signers, statuses, people, clock, baseUrl, certificate } = deps
  const possession = createPossession(deps)

  /** Takes the nonce and keeps the status; the holder's data stays out of it. */
  const issuing =
    ({ row }: Attested, entryIndex: number, { nonce }: ProvenKey, status: number): Decide<Issuing> =>
    (tx) => {
      if (tx.holder(NONCE, nonce))
        fail('conflict', {
          reason: 'NONCE_USED',
          message: 'The nonce of the proof was used before: get another.',
        })
      if (tx.holder(...erasedClaim(row))) fail('not_found')
      if (tx.holder(...succession(row, row.conclusive_entry))) checkedAgain()
      tx.claim(NONCE, nonce)
      const { organisation, subject, generation } = row
      tx.append({ type: 'attest', subject: entrySubject(row), data: { event: 'kyc.sd_jwt_issued' } })
      tx.write(sdJwts.row({ status, organisation, subject, generation, entry_index: entryIndex }))
      return { status, at: tx.at, check: entryIndex }
    }

  return {
    type: typeMetadata(baseUrl),

    /** The key of the certificate as verifiers find it beside the service's own; none where the service signs with its own. */
    certified: certificate === undefined ? [] : [publishedKey(certificate)],

    issuer: { issuer: baseUrl, jwks_uri: `${baseUrl}/.well-known/jwks.json` },

    /** A nonce that a wallet signs to show that it has its key. @throws AppError not_found unless the person is verified */
    async nonce(caller: Caller, userId: string): Promise<CredentialNonce> {
      await people.attested(caller, userId)
      return possession.nonce(caller.organisation)
    },

    /**
     * Issues a credential of what the check that counts has found; to whoever repeats the request, one of the same status.
     * @throws AppError not_found unless the person is verified; validation_failed for a proof that is wrong; conflict for one
     *   that was used, and where the person was checked again meanwhile or since the request was first answered;
     *   credential_certificate_expired
     */
    async issue(
      caller: Caller,
      userId: string,
      { holder_jwk, proof_of_possession }: IssueSdJwt,
    ): Promise<SdJwtIssued> {
      const attested = await people.attested(caller, userId)
      if (certificate !== undefined && clock.now() >= certificate.validTo)
        fail('credential_certificate_expired')
      const { organisation, idempotency } = caller
      const { expiresAt, level, source, check } = attested
      const stored = idempotency && (await ledger.findAnswer(idempotency))
      if (stored) idempotency.replayed = true
      // Of a proof that was taken it does not matter how long ago that was.
      const takenAt = stored ? undefined : clock.now()
      const proven = possession.prove(organisation, holder_jwk, proof_of_possession, takenAt)
      const issued = stored
        ? (stored.answer as Issuing)
        : await ledger.append(caller, issuing(attested, check.entry_index, proven, await statuses.reserve()))
      // The status is that of another check, and revoked.
      if (issued.check !== check.entry_index) checkedAgain()
      const { status, at } = issued
      const vct = typeOf(baseUrl)
      const claims = {
        iss: baseUrl,
        iat: Math.floor(at / MS_PER_SECOND),
        exp: Math.floor(expiresAt / MS_PER_SECOND),
        vct,
        cnf: { jwk: proven.key.jwk },
        status: statuses.referenceTo(status),
        level,
        source,
      }
      const signer = await signerOf(signers, certificate)
      return {
        format: SD_JWT_FORMAT,
        credential: await writeSdJwt(signer, {
          claims,
          attributes: attributesOf(attested, at),
        }),
        vct,
        issuer: baseUrl,
        issued_at: iso(at),
        expires_at: iso(expiresAt),
        issuer_key: certificate === undefined ? 'jwks' : 'x5c',
        note: certificate === undefined ? WITHOUT_CERTIFICATE : null,
      }
    },
  }
}
