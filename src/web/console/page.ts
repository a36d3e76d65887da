/** What a page of the console is. @module */
import type { ComponentType } from 'preact'
import type { Me } from '../../domain/accounts/schemas.ts'

export type Scope = Me['scopes'][number]

export interface PageProps {
  readonly me: Me
}

export interface Page {
  /** Without it: /console itself. */
  readonly name?: string
  readonly title: string
  /** Fetches its code. */
  load(): Promise<ComponentType<PageProps>>
  /** Who lacks it doesn't find the page in the sidebar. */
  readonly scope?: Scope
}

const CHANGING_ROLES: readonly (string | undefined)[] = ['owner', 'operator']

/** Whether somebody may change what a scope opens, and not only read it. */
export const mayChange = ({ role, scopes }: Me, scope: Scope): boolean =>
  CHANGING_ROLES.includes(role) && scopes.includes(scope)
