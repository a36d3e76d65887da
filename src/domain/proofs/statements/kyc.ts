/** What the service knows of `kyc`: the credential's issuer is its own, the criteria are those that were asked. @module */
import { kycMessage } from '../../../circuits/issuer-signature.ts'
import { filledCountries, kyc } from '../../../circuits/kyc.ts'
import type { Issuer } from '../../../keys/issuer.ts'
import { KycInputs } from '../schemas-inputs.ts'
import type { Statement } from '../statement.ts'
import { demandIssued, element, elements, keyReasons, mismatch, numbers, signatureOf } from './signed.ts'

interface Deps {
  readonly issuer: Pick<Issuer, 'current' | 'isValid'>
}

export const kycStatement = ({ issuer }: Deps): Statement => ({
  circuit: kyc,
  decision: 'decision',
  nullifier: 'nullifier',
  inputs: KycInputs,

  async prepare(_caller, inputs, at) {
    // They fit the schema.
    const given = inputs as KycInputs
    const credential = {
      ...elements(['subject', 'country', 'secret'], given),
      ...numbers(['birthDate', 'level', 'expiresAt'], given),
    }
    const { minLevel, latestBirthDate } = numbers(['minLevel', 'latestBirthDate'], given)
    const countries = filledCountries(given.countries.map((country, i) => element(`countries/${i}`, country)))
    const signed = await signatureOf(issuer, given)
    await demandIssued(issuer, kycMessage(credential), signed, at)
    return {
      statement: {
        minLevel: String(minLevel),
        latestBirthDate: String(latestBirthDate),
        countries: countries.map(String),
      },
      signals({ ctx, scope, now }) {
        const values = { credential, ...signed, minLevel, latestBirthDate, countries, now, scope, ctx }
        return { publicSignals: kyc.publicSignals(values), witness: kyc.witnessInput(values) }
      },
    }
  },

  async check({ publicSignals, statement, now }) {
    const { issuerX, issuerY, minLevel, latestBirthDate, countries } = kyc.read(publicSignals)
    return [
      ...(await keyReasons(issuer, { x: issuerX, y: issuerY }, now, 'ISSUER_UNKNOWN')),
      ...mismatch(statement, { minLevel, latestBirthDate, countries }, 'CRITERIA_MISMATCH'),
    ]
  },
})
