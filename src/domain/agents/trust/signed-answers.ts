/** What the service signs about agents: compact JWS whose `typ` tells them from everything else that it signs. @module */
import type { Signers } from '../../../keys/signers.ts'
import type { Json } from '../../../ledger/decision.ts'
import { writeJws } from '../../../protocol/jws.ts'

export const VERDICT_TYP = 'agent-verdict+jws'
export const RECEIPT_TYP = 'agent-receipt+jws'
export const AUTHORISATION_TYP = 'agent-authorisation+jwt'

/** Members that are undefined are left out. */
type Payload = Readonly<Record<string, Json | undefined>>

/** Signs without waiting, so that an answer can be signed inside the commit. Get one for each request. */
export interface AnswerSigner {
  /** By the key for results. */
  result(typ: typeof VERDICT_TYP | typeof RECEIPT_TYP, payload: Payload): string
  /** By the key for tokens. */
  token(payload: Payload): string
}

export const answerSigner = async (signers: Pick<Signers, 'current'>): Promise<AnswerSigner> => {
  const [results, tokens] = await Promise.all([
    signers.current('results', 'Ed25519'),
    signers.current('tokens', 'Ed25519'),
  ])
  return {
    result: (typ, payload) => writeJws({ alg: 'EdDSA', kid: results.kid, typ }, payload, results.sign),
    token: (payload) =>
      writeJws({ alg: 'EdDSA', kid: tokens.kid, typ: AUTHORISATION_TYP }, payload, tokens.sign),
  }
}
