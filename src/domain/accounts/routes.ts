/** Routes of accounts, organisations and merchants. @module */
import { route } from '../../http/route.ts'
import {
  AccountCreated,
  Me,
  MerchantCreated,
  MerchantList,
  MerchantsQuery,
  NewAccount,
  NewMerchant,
  NewOrganisation,
  Organisation,
  OrganisationChange,
  OrganisationCreated,
  OrganisationPage,
  OrganisationParams,
  OrganisationsQuery,
} from './schemas.ts'
import type { AccountsService } from './service.ts'

export interface Services {
  readonly accounts: AccountsService
}

const createAccount = route({
  name: 'createAccount',
  method: 'POST',
  path: '/console/api/accounts',
  auth: 'none',
  tag: 'Console',
  summary: 'Create an account with its own organisation',
  description:
    'One account per e-mail address. The organisation starts with an inactive subscription and 100 free proofs that are valid for 30 days.',
  body: NewAccount,
  response: { 201: AccountCreated },
  queued: false,
  errors: ['email_taken', 'rate_limited', 'unavailable'],
  example: {
    body: { email: 'ada@shop.example', password: 'correct horse battery', organisation: 'Corner shop' },
  },
  handler: ({ body, ip, requestId }, { accounts }: Services) => accounts.signUp(body, ip, requestId),
})

const getMe = route({
  name: 'getMe',
  method: 'GET',
  path: '/console/api/me',
  auth: 'console',
  tag: 'Console',
  summary: 'Get the identity behind the credential',
  response: { 200: Me },
  errors: [],
  handler: ({ caller }, { accounts }: Services) => accounts.me(caller),
})

const listOrganisations = route({
  name: 'listOrganisations',
  method: 'GET',
  path: '/console/api/organisations',
  auth: 'console',
  scope: 'admin',
  tag: 'Console',
  summary: 'List all organisations',
  description: 'Newest first; with `name` in the order of the names. For operators.',
  query: OrganisationsQuery,
  response: { 200: OrganisationPage },
  errors: [],
  example: { query: { subscription: 'active', limit: '10' } },
  handler: ({ query }, { accounts }: Services) => accounts.organisations.list(query),
})

const createOrganisation = route({
  name: 'createOrganisation',
  method: 'POST',
  path: '/console/api/organisations',
  auth: 'console',
  scope: 'admin',
  tag: 'Console',
  summary: 'Create an organisation',
  description: 'Its subscription is active. The returned key can create further keys.',
  body: NewOrganisation,
  response: { 201: OrganisationCreated },
  errors: [],
  example: { body: { name: 'Corner shop' } },
  handler: ({ caller, body }, { accounts }: Services) => accounts.organisations.create(caller, body),
})

const updateOrganisation = route({
  name: 'updateOrganisation',
  method: 'PATCH',
  path: '/console/api/organisations/{organisationId}',
  auth: 'console',
  scope: 'admin',
  tag: 'Console',
  summary: 'Change the subscription or the rate limit of an organisation',
  params: OrganisationParams,
  body: OrganisationChange,
  response: { 200: Organisation },
  errors: ['not_found', 'read_only'],
  example: {
    params: { organisationId: '{organisationId}' },
    body: { subscription: 'active', rateLimitPerMinute: 6000 },
  },
  handler: ({ caller, params, body }, { accounts }: Services) =>
    accounts.organisations.update(caller, params.organisationId, body),
})

const listMerchants = route({
  name: 'listMerchants',
  method: 'GET',
  path: '/console/api/merchants',
  auth: 'console',
  scope: 'merchant',
  tag: 'Console',
  summary: 'List merchants',
  description: 'Oldest first. A key that is bound to one merchant sees that one.',
  query: MerchantsQuery,
  response: { 200: MerchantList },
  errors: [],
  handler: ({ caller, query }, { accounts }: Services) => accounts.organisations.listMerchants(caller, query),
})

const createMerchant = route({
  name: 'createMerchant',
  method: 'POST',
  path: '/console/api/merchants',
  auth: 'console',
  scope: 'merchant',
  tag: 'Console',
  summary: 'Create a merchant',
  body: NewMerchant,
  response: { 201: MerchantCreated },
  errors: ['forbidden'],
  example: { body: { name: 'Market stall', limits: { floorLimit: 50, minAssurance: 'mac' } } },
  handler: ({ caller, body }, { accounts }: Services) => accounts.organisations.createMerchant(caller, body),
})

export const accountRoutes = [
  createAccount,
  getMe,
  listOrganisations,
  createOrganisation,
  updateOrganisation,
  listMerchants,
  createMerchant,
]
