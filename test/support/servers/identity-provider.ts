/** A real OpenID provider on this machine, and a browser that signs in to it without a screen. */
import { generateKeyPairSync } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import Provider from 'oidc-provider'

const CLIENT_ID = 'assay-console'
const CLIENT_SECRET = 'a-secret-of-the-tests-with-more-than-32-characters'
const MAX_STEPS = 12

export interface IdentityProvider {
  /** Variables of a server that has it. */
  readonly env: Readonly<Record<string, string>>
  readonly issuer: string
  close(): Promise<void>
}

/** A new key. All have one id, so that nothing but the signature tells them apart. */
const newKey = () => {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const named = { kid: 'tests', use: 'sig', alg: 'RS256' }
  return {
    secret: { ...privateKey.export({ format: 'jwk' }), ...named },
    open: { ...publicKey.export({ format: 'jwk' }), ...named },
  }
}

/**
 * Anybody may sign in to it, by a name.
 * @param baseUrl of the service, to which it sends browsers back
 * @param options.isForged whether it signs with another key than the one it publishes
 * @param options.onToken what has to be done before it answers with a token
 */
export const startIdentityProvider = async (
  baseUrl: string,
  {
    isForged = false,
    onToken = async () => undefined,
  }: { isForged?: boolean; onToken?: () => Promise<unknown> } = {},
): Promise<IdentityProvider> => {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const provider = new Provider(issuer, {
    clients: [
      {
        client_id: CLIENT_ID,
        client_secret: CLIENT_SECRET,
        redirect_uris: [`${baseUrl}/console/oidc`],
        response_types: ['code'],
        grant_types: ['authorization_code'],
      },
    ],
    jwks: { keys: [newKey().secret] },
    pkce: { required: () => true },
    cookies: { keys: ['a key of the tests'] },
    findAccount: (_, id) => ({ accountId: id, claims: async () => ({ sub: id }) }),
  })
  const answer = provider.callback()
  const published = JSON.stringify({ keys: [newKey().open] })
  server.on('request', async (request, response) => {
    if (request.url === '/token') await onToken()
    if (!isForged || request.url !== '/jwks') return answer(request, response)
    response.setHeader('Content-Type', 'application/json').end(published)
  })
  return {
    issuer,
    env: {
      OIDC_ISSUER: issuer,
      OIDC_CLIENT_ID: CLIENT_ID,
      OIDC_CLIENT_SECRET: CLIENT_SECRET,
      OIDC_NAME: 'Example',
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

const formOf = (html: string): string => /action="([^"]+)"/.exec(html)?.[1] ?? ''

/** Goes where the service sends a browser. @returns the query with which the provider sends it back */
export const passThrough = async (url: string, login: string, { denies = false } = {}): Promise<string> => {
  const jar = new Map<string, string>()
  let next: { url: string; body?: URLSearchParams } = { url }
  for (let step = 0; step < MAX_STEPS; step++) {
    const answer = await fetch(next.url, {
      redirect: 'manual',
      headers: { cookie: [...jar].map(([name, value]) => `${name}=${value}`).join('; ') },
      ...(next.body && { method: 'POST', body: next.body }),
    })
    for (const cookie of answer.headers.getSetCookie()) {
      const [pair = ''] = cookie.split(';', 1)
      const at = pair.indexOf('=')
      jar.set(pair.slice(0, at), pair.slice(at + 1))
    }
    const location = answer.headers.get('location')
    if (location !== null) {
      const target = new URL(location, next.url)
      if (target.pathname === '/console/oidc') return target.search
      next = { url: target.href }
      continue
    }
    const html = await answer.text()
    if (!answer.ok) throw new Error(`${answer.status} ${html}`)
    if (denies) {
      next = { url: `${next.url}/abort` }
      continue
    }
    const prompt = /name="prompt" value="(\w+)"/.exec(html)?.[1] ?? ''
    next = {
      url: new URL(formOf(html), next.url).href,
      body: new URLSearchParams({ prompt, ...(prompt === 'login' && { login, password: 'x' }) }),
    }
  }
  throw new Error('the provider sends nobody back')
}
