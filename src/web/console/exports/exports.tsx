/** Exports: made for a window, taken into the browser with their progress, saved, and checked here. @module */
import { Fragment } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { systemClock } from '../../../clock.ts'
import type { EvidenceFormat, SiemFormat } from '../../../domain/exports/schemas.ts'
import { visible } from '../../check/report.ts'
import type { PageProps } from '../page.ts'
import { Findings } from '../parts/findings.tsx'
import { Field, FieldError, Form, Select, textIn, useFound } from '../parts/form.tsx'
import { Main } from '../parts/main.tsx'
import { number, State } from '../parts/text.tsx'
import { type Download, download, type Progress, save } from './download.ts'
import { type Examination, examineEvidence } from './evidence-examination.ts'
import { examineLines } from './lines-examination.ts'

const DAY_MS = 24 * 3_600_000
const USUAL_DAYS = 7
const MAX_ROWS = 1_000_000

const EVIDENCE: Readonly<Record<EvidenceFormat, string>> = {
  ndjson: 'Evidence: lines of JSON',
  json: 'Evidence: one JSON document',
  zip: 'Evidence: ZIP archive',
}
const SIEM: Readonly<Record<SiemFormat, string>> = {
  csv: 'CSV, for spreadsheets',
  ndjson: 'Lines of JSON',
  json: 'One JSON document',
  cef: 'CEF (ArcSight)',
  leef: 'LEEF (QRadar)',
  ecs: 'ECS (Elastic)',
  ocsf: 'OCSF',
}

type Format =
  | { readonly kind: 'evidence'; readonly format: EvidenceFormat }
  | { readonly kind: 'siem'; readonly format: SiemFormat }

const OPTIONS = [
  ...Object.entries(EVIDENCE).map(([format, label]) => ({ value: `evidence ${format}`, label })),
  ...Object.entries(SIEM).map(([format, label]) => ({ value: `siem ${format}`, label })),
]

const dayText = (ms: number): string => new Date(ms).toISOString().slice(0, 10)

/** What was typed; days are those of UTC, both included, and none reaches beyond now. */
const readForm = (values: FormData) => {
  const now = systemClock.now()
  const [kind, format] = textIn(values, 'format').split(' ')
  return {
    format: { kind, format } as Format,
    since: Date.parse(textIn(values, 'since')),
    until: Math.min(Date.parse(textIn(values, 'until')) + DAY_MS, now),
    limit: textIn(values, 'limit').trim(),
  }
}

const pathOf = ({ format: { kind, format }, since, until, limit }: ReturnType<typeof readForm>): string => {
  const [from, to] = [since, until].map((at) => new Date(at).toISOString())
  const query = new URLSearchParams({ format, since: from ?? '', until: to ?? '' })
  if (limit !== '') query.set('limit', limit)
  return `/api/export/${kind}?${query}`
}

const sizeText = (bytes: number): string =>
  bytes < 100_000 ? `${number(Math.ceil(bytes / 1000))} kB` : `${number(Math.round(bytes / 100_000) / 10)} MB`

/** An export on its way through the browser. */
type Job =
  | { readonly step: 'coming'; readonly progress: Progress }
  | { readonly step: 'checking'; readonly got: Download; readonly bytes: number }
  | { readonly step: 'checked'; readonly got: Download; readonly examination: Examination }

const Checked = ({ examination }: { readonly examination: Examination }) => {
  const { report, complete, gaps, foreign } = examination
  const { tone, word, text, checks, facts = [] } = report
  return (
    <>
      <p>
        <State tone={tone}>{word}</State>
      </p>
      <p>{text}</p>
      {foreign !== undefined && report.verdict === 'VALID' && (
        <div class="notice" data-tone="warn">
          <p>
            <strong>This is not your organisation’s evidence</strong>: it is of{' '}
            <span class="address">{foreign}</span>.
          </p>
        </div>
      )}
      {complete === false && report.verdict === 'VALID' && (
        <div class="notice" data-tone="warn">
          <p>
            <strong>The window is not all there</strong>: {gaps.join('; ')}.
          </p>
        </div>
      )}
      {complete && report.verdict === 'VALID' && (
        <p>The server says that the window is all there, as far as its own log goes.</p>
      )}
      {facts.length > 0 && (
        <dl>
          {facts.map(([title, said]) => (
            <Fragment key={title}>
              <dt>{title}</dt>
              <dd class="address">{said}</dd>
            </Fragment>
          ))}
        </dl>
      )}
      <Findings findings={checks} />
    </>
  )
}

const JobText = ({ job, cancel }: { readonly job: Job; cancel(): void }) => {
  if (job.step === 'coming')
    return (
      <>
        <progress aria-label="The file is being made and comes in" />
        <p>
          {number(job.progress.lines)} lines, {sizeText(job.progress.bytes)} so far.{' '}
          <button type="button" class="plain" onClick={cancel}>
            Cancel
          </button>
        </p>
      </>
    )
  const { name, file } = job.got
  return (
    <>
      <h2 class="address">{name}</h2>
      <p>
        {sizeText(file.size)}, saved where your browser keeps downloads.{' '}
        <button type="button" class="plain" onClick={() => save(job.got)}>
          Save again
        </button>
      </p>
      {job.step === 'checking' ? (
        <progress aria-label="The file is checked" value={job.bytes} max={Math.max(job.bytes, file.size)} />
      ) : (
        <Checked examination={job.examination} />
      )}
    </>
  )
}

/** Said to people who don't see the bars. */
const STEPS: Readonly<Record<Job['step'], string>> = {
  coming: 'The file is being made.',
  checking: 'The file is there and is being checked.',
  checked: 'The file was checked.',
}

const Make = ({ me }: PageProps) => {
  const [job, setJob] = useState<Job | undefined>()
  const aborting = useRef<AbortController | undefined>(undefined)
  const now = systemClock.now()
  // Nobody is there any more to whom the file, or what is wrong with it, could be shown.
  useEffect(() => () => aborting.current?.abort(), [])

  const make = async (values: FormData): Promise<void> => {
    const asked = readForm(values)
    const { format, since, until } = asked
    const { organisationId } = me
    aborting.current = new AbortController()
    const { signal } = aborting.current
    setJob({ step: 'coming', progress: { lines: 0, bytes: 0 } })
    try {
      const got = await download(pathOf(asked), (progress) => setJob({ step: 'coming', progress }), signal)
      if (signal.aborted) return setJob(undefined)
      save(got)
      const tell = (bytes: number): void => setJob({ step: 'checking', got, bytes })
      tell(0)
      const examination =
        format.kind === 'evidence'
          ? await examineEvidence(got.file, { organisationId, asked: { organisationId, since, until } }, tell)
          : await examineLines(got.file, { format: format.format, organisationId, since, until }, tell)
      setJob({ step: 'checked', got, examination })
    } catch (error) {
      setJob(undefined)
      if (!signal.aborted) throw error
    }
  }
  return (
    <>
      <Form action="Make and check" submit={make}>
        <Select
          name="format"
          label="Format"
          options={OPTIONS}
          hint="Evidence proves itself to others. The other formats are for your own tools, and can be changed without a trace."
        />
        <Field name="since" type="date" label="From" required value={dayText(now - USUAL_DAYS * DAY_MS)} />
        <Field
          name="until"
          type="date"
          label="To, included"
          hint="Days begin at midnight UTC."
          required
          value={dayText(now)}
        />
        <Field name="limit" type="number" label="Rows at most" min={1} max={MAX_ROWS} step="1" />
      </Form>
      <p class="unseen" role="status">
        {job && STEPS[job.step]}
      </p>
      {job && (
        <section class="box job" aria-label="The export">
          <JobText job={job} cancel={() => aborting.current?.abort()} />
        </section>
      )}
    </>
  )
}

/** Evidence that somebody else made, or that was kept. */
const CheckKept = ({ me }: PageProps) => {
  const { found, forget, find } = useFound<{ readonly name: string; readonly examination: Examination }>()
  return (
    <details class="box">
      <summary>Check evidence that you have</summary>
      <p>The file stays in this browser.</p>
      <Form
        action="Check"
        changed={forget}
        submit={async (values) => {
          const file = values.get('file')
          if (!(file instanceof File) || file.size === 0) throw new FieldError('file', 'Choose a file.')
          await find(async () => ({
            name: file.name,
            examination: await examineEvidence(file, me, () => undefined),
          }))
        }}
      >
        <Field name="file" type="file" label="File" required />
      </Form>
      <div role="status">
        {found && (
          <>
            <p class="address">{visible(found.name)}</p>
            <Checked examination={found.examination} />
          </>
        )}
      </div>
    </details>
  )
}

export const Exports = ({ me }: PageProps) => (
  <Main
    title="Exports"
    lead="Everything that happened in your organisation in a window, as one file. It is checked in your browser as soon as it is there."
  >
    <Make me={me} />
    <CheckKept me={me} />
  </Main>
)
