/** What was found, for people: in a word, then every check, what it says, and what nobody looked at. @module */
import { useEffect, useRef } from 'preact/hooks'
import { questionWords } from '../result/question.ts'
import { type Report, visible } from './report.ts'

const MARKS = { passed: '✓ Passed', failed: '✗ Failed', skipped: '– Not run' } as const

/** The verdict is where people look and listen first. */
export const Verdict = ({ report, name }: { readonly report: Report; readonly name: string }) => (
  <div class="verdict" data-verdict={report.tone}>
    <p class="word">{report.word}</p>
    <p class="quiet">{name === '' ? report.what : `${report.what}: ${visible(name)}`}</p>
    <p>
      {report.fault !== undefined && (
        <>
          <code class="fault">{report.fault}</code>{' '}
        </>
      )}
      {report.text}
    </p>
  </div>
)

const Question = ({ asked }: { readonly asked: unknown }) => {
  const place = useRef<HTMLDivElement>(null)
  const words = questionWords(asked)
  useEffect(() => place.current?.replaceChildren(...words))
  if (words.length === 0) return null
  return (
    <section aria-labelledby="question-title">
      <h2 id="question-title">What was asked</h2>
      <p>The data were asked whether all of this holds:</p>
      <div class="asked" ref={place} />
    </section>
  )
}

export const Details = ({ report, by }: { readonly report: Report; readonly by: string }) => {
  const { checks, facts = [], notChecked = [], asked, page } = report
  return (
    <>
      {asked !== undefined && <Question asked={asked} />}
      {checks.length > 0 && (
        <section aria-labelledby="checks-title">
          <h2 id="checks-title">What was checked, in this browser</h2>
          <ol class="checks">
            {checks.map(({ title, outcome, detail, fault }) => (
              <li key={`${title} ${fault}`} data-outcome={outcome} data-fault={fault}>
                <span class="mark">{MARKS[outcome]}</span>
                <h3>{title}</h3>
                <p>
                  {fault !== undefined && (
                    <>
                      <code class="fault">{fault}</code>{' '}
                    </>
                  )}
                  {detail}
                </p>
              </li>
            ))}
          </ol>
          <p class="quiet">
            By {by}, with keys from {location.origin}. Whether you trust that address is yours to say: look at
            it in the address bar.
          </p>
        </section>
      )}
      {facts.length > 0 && (
        <section aria-labelledby="facts-title">
          <h2 id="facts-title">What it says</h2>
          <dl>
            {facts.map(([title, text]) => (
              <div class="fact" key={title}>
                <dt>{title}</dt>
                <dd>{text}</dd>
              </div>
            ))}
          </dl>
          {page !== undefined && (
            <p>
              <a href={page}>The page of this result</a>
            </p>
          )}
        </section>
      )}
      {notChecked.length > 0 && report.verdict !== 'INVALID' && (
        <section aria-labelledby="left-title">
          <h2 id="left-title">What this page can’t check</h2>
          <ul class="left-out">
            {notChecked.map((what) => (
              <li key={what}>{what}</li>
            ))}
          </ul>
        </section>
      )}
    </>
  )
}
