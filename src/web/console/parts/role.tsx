/** The roles of an organisation's members. @module */
import type { Member } from '../../../domain/accounts/team/schemas.ts'
import { Select } from './form.tsx'

export type Role = Member['role']

/** What somebody with the role may do, for those who give it. */
export const ROLE_TEXTS: Readonly<Record<Role, string>> = {
  owner: 'everything, also keys, terminals and members',
  operator: 'the daily work, without keys, terminals and members',
  viewer: 'look at everything, change nothing',
  auditor: 'look at everything and take it out as exports, change nothing',
}

const OPTIONS = Object.entries(ROLE_TEXTS).map(([value, text]) => ({ value, label: `${value}: ${text}` }))

export const RoleSelect = ({ value }: { readonly value: Role }) => (
  <Select name="role" label="Role" options={OPTIONS} value={value} />
)
