/** Where an account is signed in: each session can be ended, and all others at once. @module */
import { useState } from 'preact/hooks'
import type { SessionList } from '../../../domain/accounts/schemas.ts'
import { rethrowFault, wordsOf } from '../service.ts'
import { ask } from '../session.ts'
import { Loaded, type Reading } from './loaded.tsx'
import { Table } from './table.tsx'
import { State, Time } from './text.tsx'

type Session = SessionList['sessions'][number]

interface EndProps {
  /** Of one session, or of all others. */
  readonly path: string
  readonly children: string
  ended(): Promise<void>
}

const End = ({ path, children, ended }: EndProps) => {
  const [problem, setProblem] = useState('')
  const end = async (): Promise<void> => {
    try {
      await ask('DELETE', path)
      setProblem('')
      await ended()
    } catch (error) {
      setProblem(wordsOf(error))
      rethrowFault(error)
    }
  }
  return (
    <>
      <button type="button" class="plain" onClick={end}>
        {children}
      </button>
      <p class="error" role="alert">
        {problem}
      </p>
    </>
  )
}

const Device = ({ of: { device, lastSeenAt } }: { readonly of: Session }) => (
  <>
    <strong>{device ?? 'Unknown device'}</strong>
    {lastSeenAt !== null && (
      <small>
        last used <Time at={lastSeenAt} />
      </small>
    )}
  </>
)

export const Sessions = ({ reading }: { readonly reading: Reading<SessionList> }) => (
  <section aria-labelledby="sessions">
    <h2 id="sessions">Where you are signed in</h2>
    <Loaded of={reading}>
      {({ sessions }) => (
        <>
          <Table
            caption="Sessions of the account, the newest first"
            rows={sessions}
            keyOf={({ sessionId }) => sessionId}
            empty={<p>Nowhere.</p>}
            columns={[
              { title: 'Device', cell: (one) => <Device of={one} /> },
              { title: 'Signed in', cell: ({ createdAt }) => <Time at={createdAt} /> },
              { title: 'Ends', cell: ({ expiresAt }) => <Time at={expiresAt} /> },
              {
                title: 'Session',
                cell: ({ current, sessionId }) =>
                  current ? (
                    <State tone="good">This one</State>
                  ) : (
                    <End path={`/console/api/sessions/${sessionId}`} ended={reading.again}>
                      End this session
                    </End>
                  ),
              },
            ]}
          />
          {sessions.length > 1 && (
            <End path="/console/api/sessions" ended={reading.again}>
              End all other sessions
            </End>
          )}
        </>
      )}
    </Loaded>
  </section>
)
