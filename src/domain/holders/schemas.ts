/** Wire forms of holders and of what is issued to them. @module */
import Type, { type TProperties } from 'typebox'
import type { Credential, CredentialCircuit } from '../../circuits/credential.ts'
import { CONSENT_PURPOSES } from '../../circuits/issuer-signature.ts'
import { idOf } from '../../json/schemas.ts'
import { BINDINGS } from '../../rules/encode.ts'

/** `holder` of the routes that issue. That it is a canonical element other than 0 is asked when it is read. */
export const Holder = Type.Optional(
  Type.String({
    pattern: '^[0-9a-f]{64}$',
    description:
      "Commitment to the secret of whoever it is issued to: `holder` of `createHolder` in `assay-proving`, made for your organisation. Only they can make proofs then. Without it the service makes the secret, and whoever has the credential can use it (`binding` bearer). A commitment belongs to one person: another one's is 409, reason HOLDER_TAKEN.",
  }),
)

const Signal = Type.String({ description: 'Canonical decimal.' })

export const BindingSchema = Type.Enum([...BINDINGS], {
  description: '`holder`: only the person has the secret. `bearer`: the service made the secret.',
})

const issued = { holder: Signal, organisation: Signal, status: Signal }

const credentialOf = <C extends CredentialCircuit>(circuit: C, title: string, fields: TProperties) =>
  Type.Unsafe<Credential<C>>(
    Type.Object(
      {
        circuit: Type.Literal(circuit),
        binding: BindingSchema,
        organisation: idOf('org'),
        fields: Type.Object({ ...fields, ...issued }, { description: 'What the issuer signed.' }),
        signature: Type.Object({ r8x: Signal, r8y: Signal, s: Signal, issuerX: Signal, issuerY: Signal }),
        secret: Type.Optional(
          Type.String({ description: 'Of a bearer credential: anyone who has it can make proofs.' }),
        ),
      },
      {
        title,
        description: `What proofs of ${circuit} are made with; \`credentialValues\` of \`assay-proving\` reads it.`,
      },
    ),
  )

export const KycCredentialJson = credentialOf('kyc', 'KycCredential', {
  subject: Signal,
  birthDate: Signal,
  country: Signal,
  level: Signal,
  expiresAt: Signal,
})
export const TokenCredentialJson = credentialOf('token_validation', 'TokenCredential', {
  tokenId: Signal,
  subject: Signal,
  audience: Signal,
  claims: Signal,
  issuedAt: Signal,
  expiresAt: Signal,
})
export const ConsentCredentialJson = credentialOf('consent_verification', 'ConsentCredential', {
  subject: Signal,
  controller: Signal,
  purposes: Type.Array(Signal, { minItems: CONSENT_PURPOSES, maxItems: CONSENT_PURPOSES }),
  from: Signal,
  to: Signal,
})
