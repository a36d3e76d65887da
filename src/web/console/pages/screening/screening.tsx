/** Screening of people against watch lists: what was found waits here for decisions, and the lists are kept up to date. @module */
import { useState } from 'preact/hooks'
import type { ReviewSettings } from '../../../../domain/reviews/schemas.ts'
import { mayChange, type PageProps } from '../../page.ts'
import { FormDialog } from '../../parts/confirm.tsx'
import { Loaded, useReading } from '../../parts/loaded.tsx'
import { Main } from '../../parts/main.tsx'
import { State } from '../../parts/text.tsx'
import { ask } from '../../session.ts'
import { Lists } from './lists.tsx'
import { Queue } from './queue.tsx'

const PATH = '/console/api/review-settings'

interface ChangeProps {
  readonly to: boolean
  done(): Promise<void>
  close(): void
}

const Change = ({ to, done, close }: ChangeProps) => (
  <FormDialog
    title={to ? 'Ask for a second reviewer' : 'Let one reviewer decide'}
    action={to ? 'Ask for a second reviewer' : 'Let one reviewer decide'}
    close={close}
    submit={async () => {
      await ask('PUT', PATH, { body: { secondReviewer: to } })
      await done()
    }}
  >
    <p>
      {to
        ? 'From now on a decision is a proposal until another member decides the same. API keys decide nothing any more. You need two members who may decide.'
        : 'From now on the first decision counts. What was proposed and not confirmed decides nothing.'}
    </p>
    <p>It holds for cases of KYC as well, and is recorded in the log.</p>
  </FormDialog>
)

const SecondReviewer = ({ me }: PageProps) => {
  const reading = useReading<ReviewSettings>(PATH)
  const [asked, setAsked] = useState<boolean | undefined>()
  return (
    <section aria-labelledby="second">
      <h2 id="second">Second pair of eyes</h2>
      <Loaded of={reading}>
        {({ secondReviewer }) => (
          <>
            <p>
              <State tone={secondReviewer ? 'good' : 'quiet'}>
                {secondReviewer ? 'Two members decide' : 'One member decides'}
              </State>
            </p>
            <p>
              {secondReviewer
                ? 'What one member decides of a person waits until another member decides the same. Nobody confirms their own.'
                : 'What one member decides of a person counts at once.'}
            </p>
            {mayChange(me, 'keys') && (
              <p>
                <button type="button" class="plain" onClick={() => setAsked(!secondReviewer)}>
                  {secondReviewer ? 'Let one reviewer decide' : 'Ask for a second reviewer'}
                </button>
              </p>
            )}
          </>
        )}
      </Loaded>
      {asked !== undefined && <Change to={asked} done={reading.again} close={() => setAsked(undefined)} />}
    </section>
  )
}

export const Screening = ({ me }: PageProps) => (
  <Main
    title="Screening"
    lead="People whom you have subscribed are compared with watch lists now, and again whenever a list changes."
  >
    <Queue me={me} />
    {me.scopes.includes('audit') && <SecondReviewer me={me} />}
    <Lists me={me} />
  </Main>
)
