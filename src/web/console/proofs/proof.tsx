/** One proof: what it shows, checked in the browser, whether it still counts, and spending it. @module */
import { useState } from 'preact/hooks'
import type { ProofVerified } from '../../../domain/proofs/schemas.ts'
import type { KnownProof } from '../../../domain/proofs/schemas-list.ts'
import { loadCode } from '../../http.ts'
import { mayChange, type PageProps } from '../page.ts'
import { Confirm, Dialog } from '../parts/confirm.tsx'
import { Findings } from '../parts/findings.tsx'
import { FieldError, useFound } from '../parts/form.tsx'
import { Loaded, useReading, useWork } from '../parts/loaded.tsx'
import { State } from '../parts/text.tsx'
import { rethrowFault, wordsOf } from '../service.ts'
import { ask } from '../session.ts'
import type { Shown } from './proof-examination.ts'
import { statedWords } from './stated.ts'

/** Characters of an id that have to be typed. */
const NAME_CHARACTERS = 6

const askedOf = ({ proofId, circuitId, proof }: KnownProof) => ({
  proof_id: proofId,
  circuit_id: circuitId,
  proof,
})

const Words = ({ of: { proves, checks, signals, stated } }: { readonly of: Shown }) => (
  <>
    <h3>What was proven</h3>
    {stated === null && <p>What was asked is not known here; what the circuit shows stands below.</p>}
    {stated !== null && (
      <dl>
        {statedWords(stated).map(([title, text]) => (
          <div key={title}>
            <dt>{title}</dt>
            <dd class="address">{text}</dd>
          </div>
        ))}
      </dl>
    )}
    {proves !== undefined && (
      <details>
        <summary>What the circuit shows, and what has to be checked besides</summary>
        <p>{proves}</p>
        <ul>
          {checks.map((check) => (
            <li key={check}>{check}</li>
          ))}
        </ul>
      </details>
    )}
    <details>
      <summary>Public signals</summary>
      <dl>
        {signals.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd class="address">{value}</dd>
          </div>
        ))}
      </dl>
    </details>
  </>
)

const Verdict = ({ of: { verified, reason_codes } }: { readonly of: ProofVerified }) => (
  <p>
    <State tone={verified ? 'good' : 'bad'}>{verified ? 'It counts, now' : 'It does not count'}</State>
    {reason_codes.length > 0 && <small>{reason_codes.join(', ')}</small>}
  </p>
)

/** Circuits and their verifier weigh more than the page. @throws UnreachableError */
const examine = async (proof: KnownProof): Promise<Shown> =>
  (await loadCode(() => import('./proof-examination.ts'))).examineProof(proof)

interface KnownProps extends PageProps {
  readonly proof: KnownProof
  spend(): void
}

const Known = ({ proof, me, spend }: KnownProps) => {
  const work = useWork(proof.proofId, () => examine(proof))
  const { found: verdict, find } = useFound<ProofVerified>()
  const [problem, setProblem] = useState('')
  const verify = async (): Promise<void> => {
    setProblem('')
    try {
      await find(() => ask('POST', '/v1/proofs/verify', { body: askedOf(proof) }))
    } catch (error) {
      setProblem(wordsOf(error))
      rethrowFault(error)
    }
  }
  return (
    <>
      <Loaded of={work}>
        {(shown) => (
          <>
            <Words of={shown} />
            <h3>What was checked here</h3>
            <Findings findings={shown.findings} />
          </>
        )}
      </Loaded>
      <div role="status">{verdict && <Verdict of={verdict} />}</div>
      <p class="error" role="alert">
        {problem}
      </p>
      {mayChange(me, 'proof') && (
        <p class="actions">
          <button type="button" class="plain" onClick={verify}>
            Ask the service whether it counts
          </button>
          {proof.decision === 'YES' && proof.consumedAt === null && (
            <button type="button" class="plain danger" onClick={spend}>
              Spend it
            </button>
          )}
        </p>
      )}
    </>
  )
}

/** A proof that fails a check is answered with its reasons, and is not spent. */
const spendNow = async (proof: KnownProof): Promise<void> => {
  const body = { ...askedOf(proof), consume: true }
  const { consumed, reason_codes } = await ask<ProofVerified>('POST', '/v1/proofs/verify', { body })
  if (consumed !== true) throw new FieldError('name', `It was not spent: ${reason_codes.join(', ')}.`)
}

interface ShowProps extends PageProps {
  readonly proofId: string
  /** After it was spent. */
  done(): Promise<void>
  close(): void
}

export const ShowProof = ({ proofId, me, done, close }: ShowProps) => {
  const reading = useReading<KnownProof>(`/console/api/proofs/${proofId}`)
  const [spending, setSpending] = useState(false)
  const name = proofId.slice(-NAME_CHARACTERS)
  const proof = reading.value
  if (spending && proof !== undefined)
    return (
      <Confirm
        title="Spend the proof"
        name={name}
        action="Spend proof"
        close={close}
        run={async () => {
          await spendNow(proof)
          await done()
        }}
      >
        <p>
          <code class="address">{proofId}</code>
        </p>
        <p>
          It counts once, and this is that once: whoever shows it afterwards, here or to any of your programs,
          is told that it was spent. This is for good.
        </p>
      </Confirm>
    )
  return (
    <Dialog title="Proof" close={close}>
      <p>
        <code class="address">{proofId}</code>
      </p>
      <Loaded of={reading}>
        {(known) => <Known proof={known} me={me} spend={() => setSpending(true)} />}
      </Loaded>
      <p class="actions">
        <button type="button" class="plain" onClick={close}>
          Close
        </button>
      </p>
    </Dialog>
  )
}
