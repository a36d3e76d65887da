/** Builds the services of consent, KYC and AML, in order. @module */
import { DEFAULT_ORGANISATION } from '../domain/accounts/defaults.ts'
import { createWatchLists, type WatchListsService } from '../domain/aml/console.ts'
import { createLists } from '../domain/aml/lists/lists.ts'
import { type AmlService, createAml } from '../domain/aml/service.ts'
import { createRescreening } from '../domain/aml/subscriptions/rescreening.ts'
import { createReview, type ReviewService } from '../domain/aml/subscriptions/review.ts'
import { createSubscriptions, type SubscriptionsService } from '../domain/aml/subscriptions/service.ts'
import { type ConsentService, createConsents } from '../domain/consent/service.ts'
import { ProviderAnswer } from '../domain/kyc/schemas.ts'
import { createSdJwts, type SdJwtsService } from '../domain/kyc/sd-jwt/service.ts'
import { createKyc, type KycService } from '../domain/kyc/service.ts'
import * as nullifiers from '../domain/proofs/spending/nullifiers.ts'
import { createReviews, type ReviewsService } from '../domain/reviews/service.ts'
import { openCheck } from '../http/input/validation.ts'
import type { Closers, Foundations } from './foundations.ts'

export interface PeopleServices {
  readonly consents: ConsentService
  readonly reviews: ReviewsService
  readonly kyc: KycService
  readonly sdJwts: SdJwtsService
  readonly aml: AmlService
  readonly amlSubscriptions: SubscriptionsService
  readonly amlReview: ReviewService
  readonly watchLists: WatchListsService
}

/** @param closers receives what ends the services */
export const createPeopleServices = async (
  foundations: Foundations,
  closers: Closers,
): Promise<PeopleServices> => {
  const { database, ledger, issuer, sealing, clock, config, safeFetch, bus, logger, metrics } = foundations
  const { logs, subjects, holders, statuses, accounts } = foundations
  const { baseUrl } = config
  const consents = createConsents({ ...foundations, baseUrl, nullifiers })
  const reviews = createReviews({ database, ledger, clock, members: accounts.members })
  const kyc = createKyc({
    reviews,
    database,
    logs,
    ledger,
    issuer,
    sealing,
    clock,
    subjectPseudonyms: subjects,
    holders,
    statuses,
    nullifiers,
    providers: config.kycProviders,
    safeFetch,
    checkAnswer: openCheck(ProviderAnswer),
  })
  const sdJwts = createSdJwts({
    ...foundations,
    people: kyc,
    baseUrl,
    certificate: config.credentialCertificate,
  })
  const lists = await createLists({
    database,
    ledger,
    bus,
    clock,
    logger,
    source: config.amlLists,
    organisation: DEFAULT_ORGANISATION,
  })
  closers.push(() => lists.close())
  const aml = createAml({ database, ledger, clock, subjects, lists, persons: kyc.persons, people: kyc })
  const screened = { ...foundations, lists, persons: kyc.persons, reviews, baseUrl }
  const rescreening = createRescreening(screened)
  closers.push(() => rescreening.close())
  const watchLists = createWatchLists(lists, clock)
  metrics.readWatchLists(watchLists.states)
  return {
    consents,
    reviews,
    kyc,
    sdJwts,
    aml,
    amlSubscriptions: createSubscriptions({ ...screened, people: kyc }),
    amlReview: createReview(screened),
    watchLists,
  }
}
