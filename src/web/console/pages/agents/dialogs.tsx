/** What one looks up of an agent: what it did, and its badge. @module */
import type { Agent } from '../../../../domain/agents/enrol/schemas.ts'
import type { BadgeIssued } from '../../../../domain/agents/trust/badge/schemas-badge.ts'
import type { AgentAuditPage } from '../../../../domain/agents/trust/schemas-audit.ts'
import { Dialog } from '../../parts/confirm.tsx'
import { Loaded, More, usePages, useWork } from '../../parts/loaded.tsx'
import { Copyable } from '../../parts/secret.tsx'
import { Time } from '../../parts/text.tsx'
import { ask } from '../../session.ts'

interface DialogProps {
  readonly agent: Agent
  close(): void
}

type Entry = AgentAuditPage['entries'][number]

const KIND_WORDS: Readonly<Record<Entry['kind'], string>> = {
  enrol: 'Registered',
  activate: 'Activated',
  suspend: 'Suspended',
  resume: 'Resumed',
  revoke: 'Revoked',
  check_domain: 'Domain checked',
  verify: 'Signature checked',
  authorise: 'Asked for an action',
}

const amountText = ({ amount, currency }: Entry): string =>
  amount === null || currency === null ? '' : `${amount.toLocaleString()} ${currency}`

const Close = ({ close }: Pick<DialogProps, 'close'>) => (
  <p class="actions">
    <button type="button" class="plain" onClick={close}>
      Close
    </button>
  </p>
)

/** State changes, verifications and authorisations, as they stand in the log. */
export const History = ({ agent, close }: DialogProps) => {
  const reading = usePages<AgentAuditPage, Entry>(
    `/console/api/agents/${agent.agent_id}/history`,
    ({ entries }) => entries,
  )
  return (
    <Dialog title={`History of ${agent.name}`} close={close}>
      <Loaded of={reading}>
        {(entries) => (
          <ul class="findings">
            {entries.map((entry) => (
              <li key={entry.index}>
                <p>
                  <strong>{KIND_WORDS[entry.kind]}</strong> <Time at={entry.at} />
                </p>
                <p>
                  {[entry.action, amountText(entry), entry.outcome, ...entry.reasons]
                    .filter((word) => word !== null && word !== '')
                    .join(', ')}{' '}
                  <span class="quiet">(entry {entry.index} of the log)</span>
                </p>
              </li>
            ))}
          </ul>
        )}
      </Loaded>
      <More of={reading} />
      <Close close={close} />
    </Dialog>
  )
}

/** A badge, made anew: it shows what holds now to everybody who has its address. */
export const Badge = ({ agent, close }: DialogProps) => {
  const reading = useWork(agent.agent_id, () =>
    ask<BadgeIssued>('POST', '/ext/v1/agent-trust/badge', { body: { agent_id: agent.agent_id } }),
  )
  return (
    <Dialog title={`Badge of ${agent.name}`} close={close}>
      <Loaded of={reading}>
        {({ verify_url, expires_at }) => (
          <>
            <img src={new URL(verify_url).pathname} alt={`Badge of ${agent.name}, as it is now`} />
            <p>
              Whoever has its address sees the agent’s name, key, state and trust level, as they are then,
              until <Time at={expires_at} />.
            </p>
            <Copyable label="Address" value={verify_url} />
          </>
        )}
      </Loaded>
      <Close close={close} />
    </Dialog>
  )
}
