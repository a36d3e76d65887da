/**
 * How a key directory signs its own answer (draft-ietf-webbotauth-httpsig-protocol appendix B.1): each key that it lists shows that
 * its holder listed it under this very host. A directory need not be signed, but a signature that it has must hold.
 * @module
 */
import { component, isSignatureError, verifySignature } from 'http-message-sig'
import { isInnerList, parseDictionary } from 'structured-headers'
import type { PublicKey } from '../../../keys/public-key.ts'
import type { SafeFetchResponse } from '../../../net/safe-fetch.ts'
import { contentDigestFault } from '../trust/evidence/content-digest.ts'
import { MAX_CLOCK_AHEAD_SECONDS } from '../trust/evidence/evidence.ts'
import { HTTP_ALGORITHMS } from '../trust/evidence/http-signature.ts'

const TAG = 'http-message-signatures-directory'
/** The host that was asked, so that the keys can't be served again under another one. */
const ASKED_AUTHORITY = component('@authority', { req: true })

/** The label of this key's signature. @returns undefined where there is none */
const labelOf = (input: string, kid: string): string | undefined => {
  let members: ReturnType<typeof parseDictionary>
  try {
    members = parseDictionary(input)
  } catch {
    // The only way in which the parser says that it is no dictionary.
    return undefined
  }
  for (const [label, member] of members)
    if (isInnerList(member) && member[1].get('tag') === TAG && member[1].get('keyid') === kid) return label
  return undefined
}

/** Of the content as it was sent: what was sent packed was not asked for, and can't be compared. */
const isDigestRight = ({ headers, body }: SafeFetchResponse): boolean =>
  (headers['content-encoding'] ?? 'identity') === 'identity' &&
  contentDigestFault(headers['content-digest'] ?? '', body) === undefined

/**
 * Holds a directory's answer against the signature of a key that it lists. Earlier drafts did not cover the content.
 * @param now Unix seconds
 * @returns false for a signature that does not hold, now, for this host and this content
 */
export const isDirectorySound = async (
  answer: SafeFetchResponse,
  { alg, kid, verify }: PublicKey,
  now: number,
): Promise<boolean> => {
  const label = labelOf(answer.headers['signature-input'] ?? '', kid)
  if (label === undefined) return true
  const algorithm = HTTP_ALGORITHMS[alg]
  const request = { kind: 'request', method: 'GET', targetUri: answer.url, fields: [] } as const
  const fields = Object.entries(answer.headers).map(([name, value]) => ({ name, value }))
  try {
    const { components } = await verifySignature(
      { kind: 'response', status: answer.status, fields, request },
      {
        label,
        policy: {
          algorithms: [algorithm],
          requiredComponents: [ASKED_AUTHORITY],
          requiredParameters: ['created', 'expires'],
          now,
          clockSkew: MAX_CLOCK_AHEAD_SECONDS,
        },
        resolveVerifier: () => ({ algorithm, verify: (data, signature) => verify(data, signature) }),
      },
    )
    return !components.some(({ name }) => name === 'content-digest') || isDigestRight(answer)
  } catch (error) {
    if (isSignatureError(error)) return false
    throw error
  }
}
