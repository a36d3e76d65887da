/** The pages of the console: their addresses, their titles, their places in the sidebar, and who may see them. @module */
import type { Me } from '../../domain/accounts/schemas.ts'
import type { Page } from './page.ts'

interface Group {
  readonly title: string
  readonly pages: readonly Page[]
}

/** In the order of the sidebar. */
export const GROUPS: readonly Group[] = [
  {
    title: 'Overview',
    pages: [
      { title: 'Home', load: async () => (await import('./pages/home.tsx')).Home },
      {
        name: 'verify',
        title: 'Verify',
        load: async () => (await import('./pages/verify/verify.tsx')).Verify,
        scope: 'verify',
      },
      {
        name: 'alerts',
        title: 'Alerts',
        load: async () => (await import('./pages/alerts.tsx')).Alerts,
        scope: 'audit',
      },
    ],
  },
  {
    title: 'Payments',
    pages: [
      {
        name: 'payments',
        title: 'Payments',
        load: async () => (await import('./pages/payments.tsx')).Payments,
        scope: 'audit',
      },
      {
        name: 'terminals',
        title: 'Terminals',
        load: async () => (await import('./pages/terminals.tsx')).Terminals,
        scope: 'merchant',
      },
      {
        name: 'merchants',
        title: 'Merchants',
        load: async () => (await import('./pages/merchants.tsx')).Merchants,
        scope: 'merchant',
      },
    ],
  },
  {
    title: 'People',
    pages: [
      {
        name: 'people',
        title: 'Identity checks',
        load: async () => (await import('./credentials/people.tsx')).People,
        scope: 'kyc',
      },
      {
        name: 'screening',
        title: 'Screening',
        load: async () => (await import('./pages/screening/screening.tsx')).Screening,
        scope: 'aml',
      },
      {
        name: 'consents',
        title: 'Consents',
        load: async () => (await import('./credentials/consents.tsx')).Consents,
        scope: 'consent',
      },
    ],
  },
  {
    title: 'Credentials',
    pages: [
      {
        name: 'tokens',
        title: 'Tokens',
        load: async () => (await import('./credentials/tokens.tsx')).Tokens,
        scope: 'token',
      },
      {
        name: 'tickets',
        title: 'Tickets',
        load: async () => (await import('./credentials/tickets.tsx')).Tickets,
        scope: 'token',
      },
    ],
  },
  {
    title: 'Record',
    pages: [
      {
        name: 'proofs',
        title: 'Proofs',
        load: async () => (await import('./proofs/proofs.tsx')).Proofs,
        scope: 'audit',
      },
      {
        name: 'log',
        title: 'Log',
        load: async () => (await import('./pages/log.tsx')).Log,
        scope: 'audit',
      },
      {
        name: 'exports',
        title: 'Exports',
        load: async () => (await import('./exports/exports.tsx')).Exports,
        scope: 'export',
      },
    ],
  },
  {
    title: 'Connections',
    pages: [
      {
        name: 'agents',
        title: 'Agents',
        load: async () => (await import('./pages/agents/agents.tsx')).Agents,
        scope: 'agent',
      },
      {
        name: 'pods',
        title: 'Pods and domains',
        load: async () => (await import('./pages/pods.tsx')).Pods,
        scope: 'pod',
      },
      {
        name: 'webhooks',
        title: 'Webhooks',
        load: async () => (await import('./pages/webhooks.tsx')).Webhooks,
        scope: 'webhook',
      },
    ],
  },
  {
    title: 'Organisation',
    pages: [
      {
        name: 'keys',
        title: 'API keys',
        load: async () => (await import('./pages/keys.tsx')).Keys,
        scope: 'keys',
      },
      {
        name: 'policies',
        title: 'Policies',
        load: async () => (await import('./pages/policies/policies.tsx')).Policies,
        scope: 'verify',
      },
      {
        name: 'team',
        title: 'Team',
        load: async () => (await import('./pages/team.tsx')).Team,
        scope: 'keys',
      },
      { name: 'account', title: 'Account', load: async () => (await import('./pages/account.tsx')).Account },
    ],
  },
  {
    title: 'Operator',
    pages: [
      {
        name: 'organisations',
        title: 'Organisations',
        load: async () => (await import('./pages/operator/organisations.tsx')).Organisations,
        scope: 'admin',
      },
      {
        name: 'chat',
        title: 'Chat',
        load: async () => (await import('./pages/operator/chat.tsx')).Chat,
        scope: 'admin',
      },
      {
        name: 'all-alerts',
        title: 'Alerts of all',
        load: async () => (await import('./pages/operator/all-alerts.tsx')).AllAlerts,
        scope: 'admin',
      },
    ],
  },
]

export const PAGES: readonly Page[] = GROUPS.flatMap(({ pages }) => pages)

export const addressOf = ({ name }: Pick<Page, 'name'>): string =>
  name === undefined ? '/console' : `/console/${name}`

export const isAllowed = ({ scope }: Page, me: Me): boolean =>
  scope === undefined || me.scopes.includes(scope)
