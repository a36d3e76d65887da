/** The operator's identity provider: OpenID Connect Core 1.0 and Discovery 1.0, code flow with PKCE (RFC 7636). @module */
import * as client from 'openid-client'
import type { Config } from '../../../config/config.ts'
import { AppError, fail } from '../../../errors.ts'

/** What is known of the provider is asked for anew after this time; its keys whenever one is unknown. */
const METADATA_VALID_MS = 3_600_000
const TIMEOUT_SECONDS = 10
/** OpenID Connect Core 1.0 §2. */
const MAX_SUBJECT_CHARACTERS = 255

export type ProviderSettings = NonNullable<Config['oidc']>

/** What one sign-in is bound to; made anew for each. */
export interface Binding {
  readonly state: string
  readonly nonce: string
  /** RFC 7636 §4.1. */
  readonly verifier: string
}

/** Who somebody is, as the provider says. */
export interface Identity {
  readonly issuer: string
  readonly subject: string
}

const isLoopback = ({ protocol }: URL): boolean => protocol === 'http:'

/** As the provider says that it takes it; without a word of it, HTTP Basic (Discovery §3). */
const authenticationBy = (secret: string): client.ClientAuth => {
  const basic = client.ClientSecretBasic(secret)
  const post = client.ClientSecretPost(secret)
  return (as, ...rest) => {
    const methods = as.token_endpoint_auth_methods_supported ?? ['client_secret_basic']
    return (methods.includes('client_secret_basic') ? basic : post)(as, ...rest)
  }
}

/** Its words alone: what else hangs on an error of the library may be tokens, which no log should have. */
const wordsOf = (error: unknown): Error => {
  if (!(error instanceof Error)) return new Error(String(error))
  return new Error(error.cause instanceof Error ? `${error.message}: ${error.cause.message}` : error.message)
}

/** The provider answered that nobody is signed in, or something that is wrong. @throws AppError */
const refuse = (error: unknown): never => {
  if (error instanceof client.AuthorizationResponseError) {
    // Its code is one of a few words (RFC 6749 §4.1.2.1), its description anything.
    return fail('sign_in_refused', { cause: wordsOf(error) })
  }
  throw new AppError('identity_provider_failed', { cause: wordsOf(error) })
}

export type Provider = ReturnType<typeof createProvider>

/** @param redirectUri where the provider sends browsers back to, exactly as it was registered there */
export const createProvider = (
  { issuer, clientId, clientSecret }: ProviderSettings,
  { redirectUri, now }: { readonly redirectUri: string; now(): number },
) => {
  let known: { readonly at: number; readonly configuration: Promise<client.Configuration> } | undefined

  const discover = (): Promise<client.Configuration> => {
    const at = now()
    if (known !== undefined && at - known.at < METADATA_VALID_MS) return known.configuration
    const server = new URL(issuer)
    const configuration = client.discovery(server, clientId, undefined, authenticationBy(clientSecret), {
      timeout: TIMEOUT_SECONDS,
      execute: [
        // Without it the library trusts TLS alone, and looks at no signature of an ID token.
        client.enableNonRepudiationChecks,
        // Only an address of this machine may be without TLS.
        ...(isLoopback(server) ? [client.allowInsecureRequests] : []),
      ],
    })
    const asked = { at, configuration }
    known = asked
    configuration.catch(() => {
      if (known === asked) known = undefined
    })
    return configuration
  }

  return {
    issuer,

    /** Where a browser signs in. @throws AppError identity_provider_failed */
    async authorizationUrl({ state, nonce, verifier }: Binding): Promise<string> {
      try {
        const url = client.buildAuthorizationUrl(await discover(), {
          redirect_uri: redirectUri,
          scope: 'openid',
          state,
          nonce,
          code_challenge: await client.calculatePKCECodeChallenge(verifier),
          code_challenge_method: 'S256',
        })
        return url.href
      } catch (error) {
        return refuse(error)
      }
    },

    /**
     * Who came back.
     * @param query with which the provider sent the browser back
     * @throws AppError sign_in_refused, identity_provider_failed
     */
    async identify(query: string, { state, nonce, verifier }: Binding): Promise<Identity> {
      const url = new URL(redirectUri)
      url.search = query
      try {
        const tokens = await client.authorizationCodeGrant(await discover(), url, {
          expectedState: state,
          expectedNonce: nonce,
          pkceCodeVerifier: verifier,
          idTokenExpected: true,
        })
        const claims = tokens.claims() ?? fail('identity_provider_failed')
        if (claims.sub.length > MAX_SUBJECT_CHARACTERS || claims.sub.includes('\0'))
          fail('identity_provider_failed')
        return { issuer, subject: claims.sub }
      } catch (error) {
        return refuse(error)
      }
    },
  }
}
