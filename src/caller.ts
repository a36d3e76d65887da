/**
 * Who is asking, as every service sees it: the authenticators build it, the ledger records it.
 * @module
 */

/** What a key may do. New keys get all but the last three of these. */
export const SCOPES = [
  'verify',
  'pod',
  'domain',
  'proof',
  'circuit',
  'token',
  'kyc',
  'aml',
  'consent',
  'audit',
  'webhook',
  'export',
  'merchant',
  'agent',
  'metrics',
  'keys',
  'egress:private',
  'admin',
] as const
export type Scope = (typeof SCOPES)[number]
export const DEFAULT_SCOPES: readonly Scope[] = SCOPES.slice(0, -3)

/** What a member of an organisation is there. `src/domain/accounts/roles.ts` says what each may do. */
export const ROLES = ['owner', 'operator', 'viewer', 'auditor'] as const
export type Role = (typeof ROLES)[number]

/** The credential behind a request. `keyId` is the API key whose HMAC state checks payment MACs, where there is one. */
export type Credential =
  | { kind: 'key'; id: string; keyId: string; merchantId?: string }
  | { kind: 'session'; id: string; accountId: string; role: Role }
  | {
      kind: 'terminal'
      id: string
      terminalId: string
      merchantId: string
      keyId: string
      keyRevoked: boolean
    }
  /** The key of one pod, which may do nothing but have that pod verify. */
  | { kind: 'pod'; id: string; podId: string }
  /** A token of one hermes route: to ask it, or to manage it. */
  | { kind: 'route'; id: string; routeId: string; right: 'ask' | 'manage' }
  | { kind: 'system'; id: string }

/** An `Idempotency-Key` as the ledger needs it: a claim on `key`, bound to the request body. */
export interface Idempotency {
  /** Whose key it is: the organisation of whoever asks, which need not be the one that acts. */
  readonly organisation: string
  /** SHA-256 (lower-case hex) over credential (of a session its account), method, path and the header's value. */
  readonly key: string
  /** Keyed hash (lower-case hex) of query and raw body: the same key with others is refused. */
  readonly requestHash: string
  /** Set by the ledger when it returned the stored first answer. */
  replayed: boolean
}

export interface Caller {
  /** `org_…` */
  readonly organisation: string
  readonly credential: Credential
  readonly scopes: ReadonlySet<Scope>
  readonly requestId: string
  readonly idempotency?: Idempotency
}

/** The API key behind a request; null where there is none. */
export const keyBehind = (credential: Credential): string | null =>
  'keyId' in credential ? credential.keyId : null

/** Whether the service may reach, for a caller, the private networks that the operator has opened. */
export const hasPrivateEgress = ({ scopes }: Pick<Caller, 'scopes'>): boolean =>
  scopes.has('egress:private') || scopes.has('admin')

/** Somebody who is signed in to the console. */
export type SessionCaller = Caller & { readonly credential: Extract<Credential, { kind: 'session' }> }

/** The service acting on its own behalf, in the name of an organisation. */
export const systemCaller = (organisation: string, purpose: string): Caller => ({
  organisation,
  credential: { kind: 'system', id: purpose },
  scopes: new Set(),
  requestId: purpose,
})
