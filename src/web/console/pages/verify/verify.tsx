/** Verifying by hand: data and question in, a signed and proven result out, which this browser checks. @module */
import { useEffect, useRef, useState } from 'preact/hooks'
import type { VerificationResult } from '../../../../domain/verification/schemas.ts'
import { isObject } from '../../../../protocol/json-object.ts'
import { mayChange, type PageProps } from '../../page.ts'
import { Findings } from '../../parts/findings.tsx'
import { Field, FieldError, Form, jsonIn, textIn } from '../../parts/form.tsx'
import { Loaded, useWork } from '../../parts/loaded.tsx'
import { Main } from '../../parts/main.tsx'
import { Copyable } from '../../parts/secret.tsx'
import { State, type Tone } from '../../parts/text.tsx'
import { ask } from '../../session.ts'
import { type AnswerExamined, type Asked, examineAnswer } from './examination.ts'

const MAX_NONCE_CHARACTERS = 128
const MAX_TTL_SECONDS = 10 * 366 * 24 * 3600

const EXAMPLE_DATA = `{
  "name": "Ada",
  "age": 36
}`
const EXAMPLE_RULES = `[
  { "field": "age", "op": "gte", "value": 18 }
]`

interface Done {
  readonly answer: VerificationResult
  readonly asked: Asked
}

/** Put together as text: parsed and written again, a long number would no longer be the one that was typed. */
const requestIn = (values: FormData): { json: string; asked: Asked } => {
  if (!isObject(jsonIn(values, 'data')))
    throw new FieldError('data', 'This must be an object, such as { "age": 36 }.')
  const rules = jsonIn(values, 'options.rules')
  if (rules !== undefined && !Array.isArray(rules))
    throw new FieldError('options.rules', 'This must be an array of rules.')
  const ttl = textIn(values, 'options.ttl')
  const nonce = textIn(values, 'options.nonce')
  const options = [
    '"include_receipt":true',
    ...(rules === undefined ? [] : [`"rules":${textIn(values, 'options.rules')}`]),
    ...(ttl === '' ? [] : [`"ttl":${Number(ttl)}`]),
    ...(nonce === '' ? [] : [`"nonce":${JSON.stringify(nonce)}`]),
  ]
  return {
    json: `{"data":${textIn(values, 'data')},"options":{${options.join()}}}`,
    asked: rules === undefined || rules.length === 0 ? undefined : { rules },
  }
}

interface AskProps {
  answered(done: Done | undefined): void
  changed(isChanged: boolean): void
}

const Ask = ({ answered, changed }: AskProps) => (
  <Form
    action="Verify"
    changed={() => changed(true)}
    submit={async (values) => {
      const { json, asked } = requestIn(values)
      // What stands below was answered to something else.
      answered(undefined)
      changed(false)
      answered({ answer: await ask<VerificationResult>('POST', '/verify', { json, slow: true }), asked })
    }}
  >
    <Field
      name="data"
      label="Data"
      hint="A JSON object. It is neither stored nor signed; the result commits to it."
      rows={6}
      required
      value={EXAMPLE_DATA}
    />
    <Field
      name="options.rules"
      label="Question"
      hint={
        <>
          The rules that the data must fulfil, as a JSON array: <a href="/docs/rules">which there are</a>.
          Without any the result attests what was submitted, and decides nothing.
        </>
      }
      rows={6}
      value={EXAMPLE_RULES}
    />
    <Field
      name="options.ttl"
      type="number"
      label="Valid for, in seconds"
      hint="For ever if left empty."
      min={1}
      max={MAX_TTL_SECONDS}
    />
    <Field
      name="options.nonce"
      label="Nonce"
      hint="Chosen by who receives the result, to see that it is fresh."
      maxLength={MAX_NONCE_CHARACTERS}
      autocomplete="off"
    />
  </Form>
)

const VERDICTS: Readonly<Record<AnswerExamined['verdict'], readonly [Tone, string]>> = {
  VALID: ['good', 'The checks of this browser passed'],
  UNVERIFIED: ['warn', 'Not verified: something that matters could not be checked'],
  EXPIRED: ['warn', 'It is genuine, and has expired'],
  REVOKED: ['bad', 'It is genuine, and was revoked'],
  INVALID: ['bad', 'Don’t rely on it: a check failed'],
}

const Checked = ({ answer, asked }: Done) => (
  <Loaded of={useWork(answer.verificationId, () => examineAnswer(answer, asked))}>
    {({ verdict, findings }) => (
      <>
        <p role="status">
          <State tone={VERDICTS[verdict][0]}>{VERDICTS[verdict][1]}</State>
        </p>
        <Findings findings={findings} />
      </>
    )}
  </Loaded>
)

const decisionText = ({ decision, reason }: VerificationResult): string => {
  if (decision === null) return 'Attests the data: no question was asked'
  return reason === 'missing_data' ? `${decision}: the rules ask for data that is missing` : decision
}

/** What is shown once stays when the form is changed, and says so. */
const Result = ({ answer, asked, isChanged }: Done & { readonly isChanged: boolean }) => {
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => heading.current?.focus(), [answer])
  return (
    <section aria-labelledby="result">
      <h2 id="result" tabIndex={-1} ref={heading}>
        Result
      </h2>
      <div class="notice" data-tone={answer.decision === 'YES' && !isChanged ? 'good' : 'warn'}>
        <p>
          <strong>{decisionText(answer)}</strong>
        </p>
        {isChanged && <p>It answers what stood in the form before you changed it.</p>}
        <p>
          So the answer says, with entry {answer.merkleIndex} of the log; what was signed and proven is
          checked below.
        </p>
      </div>
      <Copyable label="Address for its recipients" value={answer.qrUrl} />
      <h3>Checked in this browser</h3>
      <Checked key={answer.verificationId} answer={answer} asked={asked} />
      <details>
        <summary>The whole answer</summary>
        <p>
          Its <code>salt</code> opens the commitment to the data, and is shown this once.
        </p>
        <pre
          // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls has to be reached by keyboard
          tabIndex={0}
        >
          {JSON.stringify(answer, null, 2)}
        </pre>
      </details>
    </section>
  )
}

export const Verify = ({ me }: PageProps) => {
  const [done, setDone] = useState<Done | undefined>()
  /** Whether the form says something else by now than what was asked. */
  const [isChanged, setChanged] = useState(false)
  return (
    <Main
      title="Verify"
      lead="Ask something of data, and get an answer that anybody can check: signed, proven without showing the data, and recorded."
    >
      {mayChange(me, 'verify') ? (
        <Ask answered={setDone} changed={setChanged} />
      ) : (
        <p>Your role looks at everything and verifies nothing. An owner of the organisation can change it.</p>
      )}
      {done && <Result {...done} isChanged={isChanged} />}
    </Main>
  )
}
