/** Routes of terminals. @module */
import { route } from '../../http/route.ts'
import {
  NewTerminal,
  TerminalCreated,
  TerminalCredentials,
  TerminalList,
  TerminalParams,
  TerminalsQuery,
  TerminalToken,
} from './schemas.ts'
import type { TerminalsService } from './service.ts'

interface Services {
  readonly terminals: TerminalsService
}

const listTerminals = route({
  name: 'listTerminals',
  method: 'GET',
  path: '/console/api/terminals',
  auth: 'console',
  scope: 'merchant',
  tag: 'Terminals',
  summary: 'List terminals',
  description: 'Newest first, including revoked terminals unless `status` says otherwise.',
  query: TerminalsQuery,
  response: { 200: TerminalList },
  errors: [],
  example: { query: { status: 'active' } },
  handler: ({ caller, query }, { terminals }: Services) => terminals.list(caller, query),
})

const createTerminal = route({
  name: 'createTerminal',
  method: 'POST',
  path: '/console/api/terminals',
  auth: 'console',
  scope: 'keys',
  tag: 'Terminals',
  summary: 'Create a terminal',
  description: 'Also creates an API key that can only take payments for its merchant.',
  body: NewTerminal,
  response: { 201: TerminalCreated },
  queued: false,
  errors: ['unavailable'],
  example: { body: { label: 'Till 3', limits: { floorLimit: 50, minAssurance: 'mac' } } },
  handler: ({ caller, body }, { terminals }: Services) => terminals.create(caller, body),
})

const deleteTerminal = route({
  name: 'deleteTerminal',
  method: 'DELETE',
  path: '/console/api/terminals/{terminalId}',
  auth: 'console',
  scope: 'keys',
  tag: 'Terminals',
  summary: 'Revoke a terminal',
  description: 'Also ends its tokens and the API key created with it. Revoking it again changes nothing.',
  params: TerminalParams,
  response: { 204: null },
  errors: ['not_found'],
  handler: ({ caller, params }, { terminals }: Services) => terminals.revoke(caller, params.terminalId),
})

const authenticateTerminal = route({
  name: 'authenticateTerminal',
  method: 'POST',
  path: '/api/merchant/terminals/authenticate',
  auth: 'key',
  scope: 'merchant',
  tag: 'Payments',
  summary: "Exchange a terminal's id and secret for a token",
  description:
    'The token is valid for 12 hours and bound to the API key of this request, with which the terminal makes its proofs. ' +
    'After 10 failures in 15 minutes for one terminal with one API key, or 100 for one terminal: 429.',
  body: TerminalCredentials,
  response: { 200: TerminalToken },
  issues: 'token',
  queued: false,
  errors: ['invalid_credentials', 'rate_limited', 'unavailable'],
  example: { body: { terminalId: '{terminalId}', terminalSecret: '{terminalSecret}' } },
  handler: ({ caller, body }, { terminals }: Services) => terminals.authenticate(caller, body),
})

export const terminalRoutes = [listTerminals, createTerminal, deleteTerminal, authenticateTerminal]
