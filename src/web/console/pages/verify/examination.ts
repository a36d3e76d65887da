/** What the page checks of an answer of POST /verify: what its recipients can check, and its receipt. @module */
import { systemClock } from '../../../../clock.ts'
import type { PublicResult, VerificationResult } from '../../../../domain/verification/schemas.ts'
import { logOf } from '../../../../protocol/log-heads.ts'
import { openCrypto } from '../../../crypto/crypto.ts'
import { type Finding, failed, passed, skipped } from '../../../result/finding.ts'
import { published } from '../../../result/published.ts'
import { CHECK_TITLES, examine, OTHER_LOG, type Verdict } from '../../../result/result-checks.ts'
import { compareTree } from '../../log-checks.ts'
import type { TitledFinding } from '../../parts/findings.tsx'
import { ask } from '../../session.ts'

/** The question as it was typed; undefined: none. */
export type Asked = { readonly rules: unknown } | undefined

export interface AnswerExamined {
  readonly verdict: Verdict
  readonly findings: readonly TitledFinding[]
}

/** @param signedLeaf the entry that the JWS names */
const checkReceipt = async (
  { receipt, merkleIndex, log: told }: VerificationResult,
  signedLeaf: unknown,
): Promise<Finding> => {
  if (receipt === undefined) return skipped('The answer has none.')
  const { leafHash, index, treeSize, root } = receipt
  const log = logOf(receipt.log)
  if (log === undefined) return skipped(OTHER_LOG)
  if (signedLeaf === undefined)
    return skipped('Without a good signature there is no entry to compare it with.')
  if (leafHash !== signedLeaf || index !== merkleIndex || log !== logOf(told))
    return failed('It is about another entry than the one that was signed.')
  const { outcome, detail } = await compareTree({ size: treeSize, root }, log)
  if (outcome !== 'passed') return { outcome, detail }
  return passed(
    `It is about the signed entry, and the log as signed now begins with the ${treeSize} entries whose root it names.`,
  )
}

/** What the page shows of the answer is what was signed and published. */
const checkAnswer = (
  { verificationId, decision, log, merkleIndex }: VerificationResult,
  claims: Readonly<Record<string, unknown>> | undefined,
  published: PublicResult,
): Finding => {
  if (claims === undefined) return skipped('Without a good signature there is nothing to compare it with.')
  const others = [
    ...(claims.jti === verificationId ? [] : ['the id']),
    ...((claims.decision ?? null) === decision ? [] : ['the decision']),
    ...(published.merkleIndex === merkleIndex && published.log === log ? [] : ['the place in the log']),
  ]
  return others.length === 0
    ? passed('Id and decision are those that were signed, the place in the log is the one that is published.')
    : failed(`It differs from what was signed or published: ${others.join(', ')}.`)
}

/**
 * Checks an answer with what the service publishes. The proof and the question are those of the answer and of the form: whoever
 * asked has them, also where they are not published.
 * @throws ServiceError, UnreachableError
 */
export const examineAnswer = async (answer: VerificationResult, asked: Asked): Promise<AnswerExamined> => {
  const { pathname } = new URL(answer.qrUrl)
  const [record, jwks, crypto] = await Promise.all([
    ask<PublicResult>('GET', pathname),
    ask<unknown>('GET', '/.well-known/jwks.json'),
    openCrypto(globalThis.crypto.subtle),
  ])
  const { verdict, checks, claims } = await examine(
    {
      hash: pathname.split('/').at(-1) ?? '',
      record: { ...record, jws: answer.jws, proof: answer.proof, asked },
      jwks,
      origin: location.origin,
      now: systemClock.now(),
      published,
    },
    crypto,
  )
  const receipt = await checkReceipt(answer, claims?.leaf_hash)
  const shown = checkAnswer(answer, claims, record)
  return {
    verdict: [receipt, shown].some(({ outcome }) => outcome === 'failed') ? 'INVALID' : verdict,
    findings: [
      { title: 'Answer', ...shown },
      ...checks.map((check) => ({ title: CHECK_TITLES[check.name], ...check })),
      { title: 'Receipt', ...receipt },
    ],
  }
}
