/** The type of the credential about a person, for whoever issues, shows or checks one (draft-ietf-oauth-sd-jwt-vc-18, type metadata). @module */
import type { TypeMetadata } from './schemas.ts'

/** Where the type is described, and with BASE_URL its name (`vct`). Another number where a claim changes its meaning. */
export const TYPE_PATH = '/credentials/person/1'
export const typeOf = (baseUrl: string): string => `${baseUrl}${TYPE_PATH}`

/** What holders decide to show, each for itself, with its label. */
const ATTRIBUTES = {
  given_name: 'Given name',
  family_name: 'Family name',
  birthdate: 'Date of birth',
  country: 'Country',
  age_over_18: '18 or older when it was issued',
  age_over_21: '21 or older when it was issued',
} as const
export type Attribute = keyof typeof ATTRIBUTES

/** What a verifier must see to know what the attributes are worth. */
const ALWAYS_SHOWN = { level: 'Level of the check', source: 'Who says so' } as const

const claims = (
  labels: Readonly<Record<string, string>>,
  rules: { sd: 'always' | 'never'; mandatory?: true },
) =>
  Object.entries(labels).map(([name, label]) => ({
    path: [name],
    display: [{ locale: 'en', label }],
    ...rules,
  }))

export const typeMetadata = (baseUrl: string): TypeMetadata => ({
  vct: typeOf(baseUrl),
  name: 'Checked person',
  description: 'What a check of a person found. Attributes are absent where it did not find them.',
  display: [{ locale: 'en', name: 'Checked person' }],
  claims: [
    ...claims(ATTRIBUTES, { sd: 'always' }),
    ...claims(ALWAYS_SHOWN, { sd: 'never', mandatory: true }),
  ],
})
