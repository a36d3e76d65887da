/** Builds the services of consent, KYC and AML, in order. @module */
import { DEFAULT_ORGANISATION } from '../domain/accounts/defaults.ts'
import { createWatchLists, type WatchListsService } from '../domain/aml/console.ts'
import { createLists } from '../domain/aml/lists/lists.ts'
import { type AmlService, createAml } from '../domain/aml/service.ts'
import { type ConsentService, createConsents } from '../domain/consent/service.ts'
import { ProviderAnswer } from '../domain/kyc/schemas.ts'
import { createKyc, type KycService } from '../domain/kyc/service.ts'
import * as nullifiers from '../domain/proofs/spending/nullifiers.ts'
import { openCheck } from '../http/input/validation.ts'
import { createSubjectPseudonyms } from '../keys/subject-pseudonyms.ts'
import type { Closers, Foundations } from './foundations.ts'

export interface PeopleServices {
  readonly consents: ConsentService
  readonly kyc: KycService
  readonly aml: AmlService
  readonly watchLists: WatchListsService
}

/** @param closers receives what ends the services */
export const createPeopleServices = async (
  foundations: Foundations,
  closers: Closers,
): Promise<PeopleServices> => {
  const { database, ledger, signers, issuer, sealing, clock, config, safeFetch, bus, logger } = foundations
  const { baseUrl } = config
  const subjects = createSubjectPseudonyms({ sealing })
  const consents = createConsents({
    database,
    ledger,
    signers,
    issuer,
    sealing,
    clock,
    baseUrl,
    subjects,
    nullifiers,
  })
  const kyc = createKyc({
    database,
    ledger,
    issuer,
    sealing,
    clock,
    baseUrl,
    subjectPseudonyms: subjects,
    nullifiers,
    providers: config.kycProviders,
    safeFetch,
    checkAnswer: openCheck(ProviderAnswer),
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
  const aml = createAml({ database, ledger, clock, subjects, lists, people: kyc })
  return { consents, kyc, aml, watchLists: createWatchLists(lists) }
}
