/** Eligibility: facts of several sources, rules over them, and a proof that shows neither facts nor parts. @module */
import type { Caller } from '../../caller.ts'
import { chooseCircuit } from '../../circuits/choice.ts'
import { type Clock, iso } from '../../clock.ts'
import { AppError, fail } from '../../errors.ts'
import { newId } from '../../ids.ts'
import { attempted } from '../../ledger/attempts.ts'
import type { IsOvertaken, Tx } from '../../ledger/decision.ts'
import type { Ledger } from '../../ledger/ledger.ts'
import { grow, leafHash } from '../../ledger/tree/merkle.ts'
import { decide } from '../../rules/evaluate.ts'
import { compileProgram, type ProgramForm } from '../../rules/program.ts'
import type { Tree } from '../../rules/rule.ts'
import type { MadeProof } from '../proofs/proof.ts'
import type { ProofsService } from '../proofs/service.ts'
import type { TokensService } from '../tokens/service.ts'
import { readLogicTree, readRules } from './placed-rules.ts'
import type { CompositeCheck, EligibilityCheck } from './schemas.ts'
import type { AggregatedProof, CompositeAnswer, EligibilityAnswer } from './schemas-answers.ts'
import type { SourceServices } from './source-readers.ts'
import { checkSources, factsOf, type Gathered, gather, readAgain } from './sources.ts'

/** What a nullifier would be scoped to, beside the service itself. */
const PURPOSE = 'eligibility'
/** SHA-256 in hex. */
const DIGEST_CHARACTERS = 64
/** How often sources are read again before a YES is given up: each time something else was changed on the way to the commit. */
const MAX_LOOKS = 3

/** @throws AppError conflict, always */
const failChanged = (): never =>
  fail('conflict', { message: 'What the data sources say was changed meanwhile; try again.' })

interface Deps {
  readonly ledger: Pick<Ledger, 'append' | 'findAnswer'>
  readonly sources: SourceServices
  readonly proofs: Pick<ProofsService, 'make'>
  readonly tokens: Pick<TokensService, 'draft' | 'demand'>
  readonly clock: Clock
}

/** Who asks, from where. */
export interface EligibilityAsker {
  readonly caller: Caller
  readonly requestId: string
  /** Client address, after TRUST_PROXY. */
  readonly ip: string
}

/** What is asked, read and ready. */
interface Inquiry extends Pick<CompositeCheck, 'identifier' | 'dataSources'> {
  readonly tree: Tree
}

/** What came of it, before it is committed. */
interface Assessed {
  readonly reason: 'missing_data' | undefined
  readonly members: readonly Gathered[]
  readonly root: string
  readonly made: MadeProof
}

const idsOf = (sources: readonly { readonly id: string }[]): string[] => sources.map(({ id }) => id)

/** The smaller circuit where the rules fit it. @throws AppError not_provable, tree_too_large */
const formOf = (tree: Tree): ProgramForm => {
  try {
    compileProgram(tree, 'eligibility')
    return 'eligibility'
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    compileProgram(tree, 'composite')
    return 'composite'
  }
}

/** RFC 6962 §2.1 over the commitments as texts. */
const rootOf = (members: readonly Gathered[]): string => {
  const leaves = members.map(({ commitment }) => leafHash(commitment))
  return Buffer.from(grow(0, [], leaves).root).toString('hex')
}

const provenBy = ({ made, members, root }: Assessed): AggregatedProof => ({
  root,
  count: members.length,
  members: members.map(({ source, type, commitment }) => ({ source, type, commitment })),
  proof: made.proof as AggregatedProof['proof'],
  publicInputs: [...made.publicSignals],
  proofId: made.proofId,
  circuitId: made.circuitId as AggregatedProof['circuitId'],
  digest: made.digest,
  context: { ...made.context, statement: made.context.statement as AggregatedProof['context']['statement'] },
})

const saltsOf = (members: readonly Gathered[]): Record<string, string> =>
  Object.fromEntries(members.map(({ source, salt }) => [source, Buffer.from(salt).toString('base64url')]))

const verdictOf = ({ made, reason }: Assessed) => ({
  eligible: made.decision === 1,
  ...(reason && { reason }),
})

export type EligibilityService = ReturnType<typeof createEligibility>

export const createEligibility = ({ ledger, sources, proofs, tokens, clock }: Deps) => {
  const assess = async (
    asker: EligibilityAsker,
    { tree, dataSources, identifier }: Inquiry,
    form: ProgramForm,
  ): Promise<Assessed> => {
    const members = await gather(sources, { asker, identifier }, dataSources)
    const facts = factsOf(members)
    const decision = decide(tree, facts)
    const choice = chooseCircuit({ tree, data: facts, decision }, form)
    const root = rootOf(members)
    const made = await proofs.make(asker.caller, {
      circuitId: form,
      prepared: {
        statement: { ...choice.statement, sources_root: root, gathered_at: iso(clock.now()) },
        ...(decision.reason && { reason: decision.reason }),
        signals: (binding) => choice.signals(binding),
      },
      category: 'eligibility',
      purpose: PURPOSE,
      ...(identifier !== undefined && { subject: identifier }),
    })
    if ((made.decision === 1) !== (decision.decision === 'YES'))
      throw new Error(`Circuit ${form} and the rules disagree.`)
    return { reason: decision.reason, members, root, made }
  }

  /**
   * The last thing to wait for before a YES is committed.
   * @returns for its decision: whether what was read was changed since
   * @throws AppError conflict where by what the service keeps itself the rules hold no more
   */
  const lastLook = async (
    asker: EligibilityAsker,
    { identifier, dataSources, tree }: Inquiry,
    { made, members }: Assessed,
  ): Promise<IsOvertaken> => {
    if (made.decision !== 1) return () => false
    const { facts, isOvertaken } = await readAgain(sources, { asker, identifier }, dataSources, members)
    return decide(tree, facts).decision === 'YES' ? isOvertaken : failChanged()
  }

  /**
   * A withdrawal or revocation that is committed before it, also while others were asked or the proof was made, gives nobody a YES.
   * @param answer part of the decision, which also records @throws AppError conflict as above, or where all is changed time and again
   */
  const commit = async <R>(
    asker: EligibilityAsker,
    inquiry: Inquiry,
    assessed: Assessed,
    answer: (tx: Tx) => R,
  ): Promise<R> =>
    (await attempted(asker.caller, MAX_LOOKS, async (caller) => {
      const isOvertaken = await lastLook({ ...asker, caller }, inquiry, assessed)
      return ledger.append(caller, (tx) => (isOvertaken(tx) ? undefined : answer(tx)))
    })) ?? failChanged()

  /** What the same request was answered before, so that it is neither refused for what has changed since nor asks anybody again. */
  const findAnswer = async <R>(
    { caller: { idempotency } }: EligibilityAsker,
    { dataSources }: Pick<Inquiry, 'dataSources'>,
  ): Promise<R | undefined> => {
    if (idempotency === undefined) return undefined
    // What each hermes source answers is committed before.
    const step = dataSources.filter(({ type }) => type === 'hermes').length
    const stored = await ledger.findAnswer(idempotency, step)
    if (stored) idempotency.replayed = true
    // The ledger keeps what the same code answered.
    return stored?.answer as R | undefined
  }

  return {
    /**
     * Whether somebody fulfils all rules; who does gets a token, committed together with the proof.
     * @throws AppError insufficient_scope; validation_failed, tree_too_large, not_provable; source_failed; subscription_inactive,
     *   free_allocation_used; pass_signing_not_configured; conflict where a source says something else by the end;
     *   rate_limited, prover_overloaded, unavailable
     */
    async check(asker: EligibilityAsker, request: EligibilityCheck): Promise<EligibilityAnswer> {
      const stored = await findAnswer<EligibilityAnswer>(asker, request)
      if (stored) return stored
      const { identifier, dataSources, rules, tokenConfig } = request
      checkSources({ asker }, dataSources)
      const tokenOf = (proofId: string, digest: string) => ({
        ...tokenConfig,
        subject: identifier,
        claims: { eligible: true, proof_id: proofId, digest },
      })
      // With stand-ins: what is wrong with it must not depend on the verdict, nor be told after sources were paid.
      await tokens.demand(
        asker.caller,
        tokenOf(newId('prf', clock.now()), '0'.repeat(DIGEST_CHARACTERS)),
        '/tokenConfig',
      )
      const tree = readRules(rules, idsOf(dataSources))
      const inquiry = { identifier, dataSources, tree }
      const assessed = await assess(asker, inquiry, formOf(tree))
      const { made, members } = assessed
      const draft =
        made.decision === 1 ? await tokens.draft(asker.caller, tokenOf(made.proofId, made.digest)) : undefined
      return commit(asker, inquiry, assessed, (tx): EligibilityAnswer => {
        made.recording.record(tx)
        const issued = draft?.(tx)
        return {
          ...verdictOf(assessed),
          token: issued?.token ?? null,
          tokenId: issued?.tokenId ?? null,
          tokenExpiresAt: issued?.expiresAt ?? null,
          ...provenBy(assessed),
          salts: saltsOf(members),
        }
      })
    },

    /** Whether a tree of rules holds over several sources. @throws as `check` */
    async composite(asker: EligibilityAsker, request: CompositeCheck): Promise<CompositeAnswer> {
      const stored = await findAnswer<CompositeAnswer>(asker, request)
      if (stored) return stored
      const { identifier, dataSources, logicTree } = request
      checkSources({ asker }, dataSources)
      const tree = readLogicTree(logicTree, idsOf(dataSources))
      compileProgram(tree, 'composite')
      const inquiry = { identifier, dataSources, tree }
      const assessed = await assess(asker, inquiry, 'composite')
      return commit(asker, inquiry, assessed, (tx) => {
        assessed.made.recording.record(tx)
        return {
          ...verdictOf(assessed),
          aggregatedProof: provenBy(assessed),
          salts: saltsOf(assessed.members),
        }
      })
    },
  }
}
