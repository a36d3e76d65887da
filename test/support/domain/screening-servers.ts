/** Servers that screen people, on one database: each has lists and a ledger of its own, and its commits can be held up. */
import { type Clock, systemClock } from '../../../src/clock.ts'
import type { CheckType } from '../../../src/domain/aml/entry.ts'
import { type AmlLists, createLists } from '../../../src/domain/aml/lists/lists.ts'
import { createAml } from '../../../src/domain/aml/service.ts'
import { createRescreening } from '../../../src/domain/aml/subscriptions/rescreening.ts'
import { createReview } from '../../../src/domain/aml/subscriptions/review.ts'
import { createSubscriptions } from '../../../src/domain/aml/subscriptions/service.ts'
import { createPersonAccess } from '../../../src/domain/kyc/person-access.ts'
import { createPersonKeys } from '../../../src/domain/kyc/person-records.ts'
import { createReviews } from '../../../src/domain/reviews/service.ts'
import { createSecurity } from '../../../src/domain/security/service.ts'
import { createSealing } from '../../../src/keys/sealing.ts'
import { createSigners } from '../../../src/keys/signers.ts'
import { createSubjectPseudonyms } from '../../../src/keys/subject-pseudonyms.ts'
import type { Ledger } from '../../../src/ledger/ledger.ts'
import { ONE_LOG } from '../../../src/ledger/logs.ts'
import { createMetrics } from '../../../src/metrics.ts'
import type { Database } from '../../../src/store/database.ts'
import { createLimits } from '../../../src/store/limits.ts'
import { callerOf, ledgerOn } from '../ledger.ts'
import { type Listed, listedText } from './screening.ts'

const sealing = createSealing(new Uint8Array(32).fill(7))
const logger = { info: () => undefined, warn: () => undefined, error: () => undefined }

/** A commit that waits. */
interface HeldUp {
  /** Once the next commit has come as far as the ledger. */
  readonly arrived: Promise<void>
  release(): void
}

/** A promise with what keeps it. */
const later = (): { readonly kept: Promise<void>; keep(): void } => {
  let keep = (): void => undefined
  const kept = new Promise<void>((resolve) => {
    keep = resolve
  })
  return { kept, keep }
}

const createGate = ({ append }: Pick<Ledger, 'append'>) => {
  let next: { arrive(): void; readonly passed: Promise<void> } | undefined
  return {
    async append(...of) {
      const gate = next
      next = undefined
      gate?.arrive()
      await gate?.passed
      return append(...of)
    },
    hold(): HeldUp {
      const [arrival, passage] = [later(), later()]
      next = { arrive: arrival.keep, passed: passage.kept }
      return { arrived: arrival.kept, release: passage.keep }
    },
  } satisfies Pick<Ledger, 'append'> & { hold(): HeldUp }
}

export type ScreeningServer = Awaited<ReturnType<typeof startScreeningServer>>

/**
 * A server, which has the lists that are there. It screens nobody again by itself.
 * @param organisation that asks @param source AML_LISTS @param clock default: that of the system
 */
export const startScreeningServer = async (
  database: Database,
  organisation: string,
  source: AmlLists = 'none',
  clock: Clock = systemClock,
) => {
  const ledger = await ledgerOn(database)
  const gate = createGate(ledger)
  const lists = await createLists({
    database,
    ledger,
    bus: { publish: async () => undefined, subscribe: () => () => undefined },
    clock,
    logger,
    source,
    organisation,
  })
  const subjects = createSubjectPseudonyms({ sealing })
  const persons = createPersonAccess({
    database,
    keys: createPersonKeys(sealing),
    pseudonymOf: ({ organisation }, userId) => subjects.of(organisation, 'kyc', userId),
  })
  const metrics = createMetrics()
  const people = { nameOf: async () => undefined }
  const security = createSecurity({
    ledger,
    database,
    limits: createLimits(),
    clock,
    sealing,
    rateLimits: false,
    logger,
  })
  const logs = ONE_LOG
  const deps = {
    database,
    logs,
    ledger: { ...gate, findAnswer: ledger.findAnswer, findCounter: ledger.findCounter },
    clock,
    logger,
    metrics,
    lists,
    persons,
    security,
    subjects,
    people,
  }
  const caller = callerOf(organisation)
  const signers = await createSigners({ database, sealing, clock })
  const reviews = createReviews({
    database,
    ledger: { ...gate, findCounter: ledger.findCounter },
    clock,
    members: { may: async () => true, rolesCounter: 'roles' },
  })
  const review = createReview({ ...deps, reviews, signers, baseUrl: 'https://screening.example' })
  const subscriptions = createSubscriptions(deps)
  const aml = createAml(deps)
  return {
    caller,
    lists,
    persons,
    review,
    subscriptions,
    /** The next commit of this server waits until it is released. */
    hold: gate.hold,
    subscribe: (userId: string, known: Omit<Listed, 'id'>, checkTypes: CheckType[] = ['sanctions']) =>
      subscriptions.subscribe(caller, {
        userId,
        checkTypes,
        name: known.name,
        dateOfBirth: known.birthDate,
        country: known.country,
      }),
    facts: async (userId: string) => (await aml.factsOf(caller, userId)).facts,
    check: async (userId: string, name: string, checkType: CheckType = 'sanctions') =>
      (await aml.check(caller, { userId, name, checkTypes: [checkType] }))[0],
    findings: async (status: 'open' | 'decided' | 'void') =>
      (await review.list(caller, { status, limit: 100 })).findings,
    /** Replaces the list `own`. @returns its version's number */
    async upload(...listed: readonly Listed[]): Promise<number> {
      const content = listedText(listed)
      const file = { name: 'own.ftm.json', open: () => [Buffer.from(content)] }
      const source = { listId: 'own', format: 'opensanctions', files: [file] } as const
      return (await lists.upload(caller, source, true)).number
    },
    /** Hears of no more lists, as a server that is slow. */
    stayBehind: () => lists.close(),
    /** Begins to screen again whoever is behind; close it. */
    rescreen: (leaseMs?: number) => createRescreening({ ...deps, leaseMs }),
    metrics: () => metrics.text(),
    screened: async () => {
      const [, count = '0'] =
        /aml_rescreened_total\{outcome="screened"\} (\d+)/.exec(await metrics.text()) ?? []
      return Number(count)
    },
    close: async () => {
      await lists.close()
      await ledger.close()
    },
  }
}
