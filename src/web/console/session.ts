/** Who is signed in, and requests on their behalf. The CSRF token is kept here, in memory, and nowhere else. @module */
import { signal } from '@preact/signals'
import type { Me, NewAccount, SignIn } from '../../domain/accounts/schemas.ts'
import { UnreachableError } from '../http.ts'
import { type Method, rethrowFault, type Sent, ServiceError, send, wordsOf } from './service.ts'

const UNAUTHORIZED = 401

export type Session =
  | { readonly state: 'asking' }
  /** `ended`: somebody was signed in until now, in this page. */
  | { readonly state: 'out'; readonly ended: boolean }
  | { readonly state: 'in'; readonly me: Me }
  | { readonly state: 'unknown'; readonly reason: string }

export const session = signal<Session>({ state: 'asking' })

/** Who is signed in, if anybody is. @throws ServiceError, UnreachableError */
const whoIsIn = async (): Promise<Session> => {
  try {
    return { state: 'in', me: (await send('GET', '/console/api/me')) as Me }
  } catch (error) {
    if (error instanceof ServiceError && error.status === UNAUTHORIZED)
      return { state: 'out', ended: session.value.state === 'in' }
    throw error
  }
}

/** Finds out who is signed in. */
export const askWho = async (): Promise<void> => {
  try {
    session.value = await whoIsIn()
  } catch (error) {
    session.value = { state: 'unknown', reason: wordsOf(error) }
    rethrowFault(error)
  }
}

/** Reads anew who is signed in, and what they may do. Where nothing is answered, all stays as it was. */
export const lookAgain = async (): Promise<void> => {
  const before = session.value
  if (before.state !== 'in') return
  const now = await whoIsIn().catch(() => before)
  // That it has ended is told with the next request: until then what is shown once can be copied.
  if (now.state !== 'in' || session.value !== before) return
  if (JSON.stringify(now.me) !== JSON.stringify(before.me)) session.value = now
}

/**
 * Looks again whenever the window is seen again, or turned to while it stood beside another: there somebody else may have signed in, and
 * what is read would be theirs under the name of who was here. Role and subscription may be others by then, too.
 */
export const watchWho = (): void => {
  const look = (): void => {
    if (document.visibilityState === 'visible') void lookAgain()
  }
  document.addEventListener('visibilitychange', look)
  addEventListener('focus', look)
  // A page that somebody comes back to is as it was left: whoever was signed in may have signed out since.
  addEventListener('pageshow', ({ persisted }) => {
    if (persisted) void askWho()
  })
}

/** @throws ServiceError, UnreachableError */
export const signIn = async (credentials: SignIn): Promise<void> => {
  await send('POST', '/console/api/session', { body: credentials })
  await askWho()
}

/** Opens an account with an organisation of its own, and signs in. @throws as `signIn` */
export const signUp = async (account: NewAccount): Promise<void> => {
  await send('POST', '/console/api/accounts', { body: account })
  await signIn({ email: account.email, password: account.password })
}

/** Each session has its own. */
const csrfTokenIn = (one: Session): string | undefined => (one.state === 'in' ? one.me.csrfToken : undefined)

const csrfToken = (): string | undefined => csrfTokenIn(session.value)

/** Ends the session under which somebody asked; another may be there by now, which an old answer says nothing of. */
const end = (asking: Session): void => {
  if (asking.state === 'in' && csrfTokenIn(asking) === csrfToken())
    session.value = { state: 'out', ended: true }
}

/**
 * Asks as whoever is signed in. When the session has ended, everybody is told to sign in again. When it was replaced in
 * another window, by the same account, the request goes out once more under the new one.
 * @throws ServiceError, UnreachableError
 */
export const ask = async <T>(
  method: Method,
  path: string,
  sent: Pick<Sent, 'body' | 'json' | 'slow'> = {},
): Promise<T> => {
  const before = session.value
  try {
    return (await send(method, path, { ...sent, csrfToken: csrfToken() })) as T
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error
    // A wrong password is 401 as well, and ends nothing.
    if (error.code === 'unauthorized') end(before)
    if (error.code !== 'csrf_required' || before.state !== 'in') throw error
    const after = await whoIsIn()
    session.value = after
    if (after.state !== 'in' || after.me.email !== before.me.email) throw error
    return (await send(method, path, { ...sent, csrfToken: csrfToken() })) as T
  }
}

/**
 * Changes what somebody changed in a form, and nothing else: members that another changed meanwhile stay theirs.
 * @param shown what the form showed of it @param wanted the same members, as they are to be @throws as `ask`
 */
export const change = async <T extends object>(path: string, shown: T, wanted: T): Promise<void> => {
  const before = new Map<string, unknown>(Object.entries(shown))
  const changed = Object.entries(wanted).filter(
    ([name, value]) => JSON.stringify(value) !== JSON.stringify(before.get(name)),
  )
  if (changed.length > 0) await ask('PATCH', path, { body: Object.fromEntries(changed) })
}

/**
 * Asks for a file that is read as it comes, however long that takes.
 * @throws ServiceError, UnreachableError; AbortError of `signal`
 */
export const askFor = async (path: string, signal: AbortSignal): Promise<Response> => {
  const before = session.value
  let response: Response
  try {
    response = await fetch(path, {
      cache: 'no-store',
      credentials: 'same-origin',
      redirect: 'error',
      signal,
    })
  } catch (cause) {
    if (signal.aborted) throw cause
    throw new UnreachableError(`${location.host} does not answer.`, { cause })
  }
  if (response.ok) return response
  if (response.status === UNAUTHORIZED) end(before)
  throw new ServiceError(response.status, await response.json().catch(() => undefined))
}

/** @throws ServiceError, UnreachableError: then somebody is signed in still */
export const signOut = async (): Promise<void> => {
  await ask('DELETE', '/console/api/session')
  session.value = { state: 'out', ended: false }
}
