/** What the kit keeps beside a request while it is handled. @module */
import type { ParameterizedContext } from 'koa'
import type { Credential } from '../caller.ts'
import type { Route } from './route.ts'

export interface HttpState {
  requestId: string
  /** Client address, after TRUST_PROXY. */
  ip: string
  /** Path as it was sent, without the query. */
  path: string
  /** Without the question mark. */
  query: string
  /** Set once the path and method are known. */
  route?: Pick<Route, 'path' | 'cost'>
  /** Set once the caller is known. */
  organisation?: string
  /** Whose turn it takes: an organisation, or an address. Set once its credential is known to be good. */
  owner?: string
  /** Whoever asks, set with `organisation`. */
  credential?: Credential
}

export type HttpContext = ParameterizedContext<HttpState>
