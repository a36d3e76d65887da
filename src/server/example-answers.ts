/** What a server answered to the examples of its operations; `npm run docs:answers` asks one, and a test compares. @module */
import answers from './example-answers.json' with { type: 'json' }

/** Stands in them for the address of the server. */
export const ANSWER_URL = 'https://assay.example.org'

interface ExampleAnswer {
  readonly status: number
  readonly body: unknown
}

/** By the name of the operation. @param baseUrl of the server that shows them */
export const exampleAnswers = (baseUrl: string): Readonly<Record<string, ExampleAnswer>> =>
  JSON.parse(JSON.stringify(answers).replaceAll(ANSWER_URL, baseUrl))
