/** The roles of an organisation's members, and what each may do in the console. @module */
import { DEFAULT_SCOPES, ROLES, type Role, type Scope } from '../../caller.ts'
import { DEFAULT_ORGANISATION } from './defaults.ts'

/** Scopes of a member's requests. What needs no scope, such as their own sessions and password, everybody may do. */
interface Rights {
  /** For GET. */
  readonly reads: ReadonlySet<Scope>
  /** For everything else. */
  readonly writes: ReadonlySet<Scope>
}

/** `keys` decides who else may act: API keys, terminals, members. `export` takes everything out at once. */
const everything: ReadonlySet<Scope> = new Set([...DEFAULT_SCOPES, 'keys'])
const dayToDay: ReadonlySet<Scope> = new Set(DEFAULT_SCOPES)
const onScreen: ReadonlySet<Scope> = new Set(DEFAULT_SCOPES.filter((scope) => scope !== 'export'))
const nothing: ReadonlySet<Scope> = new Set()

export const RIGHTS: Readonly<Record<Role, Rights>> = {
  owner: { reads: everything, writes: everything },
  operator: { reads: dayToDay, writes: dayToDay },
  viewer: { reads: onScreen, writes: nothing },
  auditor: { reads: dayToDay, writes: nothing },
}

/** Owners of the operator's organisation run the service. */
const operator: ReadonlySet<Scope> = new Set([...everything, 'admin'])
const OPERATOR: Rights = { reads: operator, writes: operator }

/** What a role may do in an organisation. */
export const rightsOf = (role: Role, organisation: string): Rights =>
  role === 'owner' && organisation === DEFAULT_ORGANISATION ? OPERATOR : RIGHTS[role]

/** Whether a stored role is one that this version knows: a later one may have written another. */
export const isRole = (text: string): text is Role => (ROLES as readonly string[]).includes(text)
