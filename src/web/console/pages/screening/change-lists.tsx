/** What the operator does with the watch lists of all organisations: read them again, or upload one. @module */
import { useState } from 'preact/hooks'
import type { ChangeLists as Change } from '../../../../domain/aml/schemas-lists.ts'
import { allIn, Choices, Field, FieldError, Form, filesIn, Select, textIn } from '../../parts/form.tsx'

type Upload = Extract<Change, { action: 'upload' }>

/** By the words of the routes, which say how a file is read. */
const FORMATS: Readonly<Record<Upload['format'], string>> = {
  opensanctions: 'OpenSanctions, JSON lines',
  'opensanctions-csv': 'OpenSanctions, CSV',
  ofac: 'OFAC, CSV files',
  'ofac-xml': 'OFAC, XML',
  csl: 'US Consolidated Screening List',
  eu: 'EU consolidated list, XML',
  uk: 'UK Sanctions List, CSV',
  un: 'UN Security Council, XML',
  senzing: 'Senzing, JSON lines',
}

const FORMAT_OPTIONS = Object.entries(FORMATS).map(([value, label]) => ({ value, label }))

const CHECK_TYPES = [
  { value: 'sanctions', label: 'Sanctions' },
  { value: 'pep', label: 'Politically exposed people' },
  { value: 'watchlist', label: 'Watch list' },
  { value: 'adverse_media', label: 'Adverse media' },
]

const ACCEPT_LOSS = [
  {
    value: 'yes',
    label: 'Accept losses',
    text: 'Take a list that has less than half of its entries, or is gone.',
  },
]

/** A body holds at most this, with its JSON around the files. */
const MAX_UPLOAD_BYTES = 1024 * 1024

const isLossAccepted = (values: FormData): boolean => allIn(values, 'acceptLoss').length > 0

interface ChangeListsProps {
  /** @throws ServiceError, UnreachableError */
  change(body: Change): Promise<void>
}

/** What became of the last change, and that one is on its way. */
const useWaiting = (change: ChangeListsProps['change']) => {
  const [said, say] = useState('')
  const run = async (body: Change, doing: string, done: string): Promise<void> => {
    say(doing)
    try {
      await change(body)
      say(done)
    } catch (error) {
      say('')
      throw error
    }
  }
  return { said, run }
}

const Reload = ({ change }: ChangeListsProps) => {
  const { said, run } = useWaiting(change)
  return (
    <details class="box">
      <summary>Read the lists again</summary>
      <p>
        Reads what <code>AML_LISTS</code> names, for all organisations. A list with errors stays as it was,
        and is named above. Large lists take a minute.
      </p>
      <Form
        action="Reload"
        submit={(values) =>
          run(
            { action: 'reload', acceptLoss: isLossAccepted(values) },
            'Reading the lists and building their index…',
            'The lists were read.',
          )
        }
      >
        <Choices name="acceptLoss" label="Losses" options={ACCEPT_LOSS} />
        <p role="status">{said}</p>
      </Form>
    </details>
  )
}

const bodyOf = async (values: FormData): Promise<Upload> => {
  const files = filesIn(values, 'files')
  if (files.reduce((bytes, { size }) => bytes + size, 0) > MAX_UPLOAD_BYTES)
    throw new FieldError('files', 'Larger than 1 MiB: put the list into the directory, and reload.')
  const checkTypes = allIn(values, 'checkTypes') as Upload['checkTypes'] & object
  return {
    action: 'upload',
    listId: textIn(values, 'listId').trim(),
    format: textIn(values, 'format') as Upload['format'],
    ...(checkTypes.length > 0 && { checkTypes }),
    files: await Promise.all(files.map(async (file) => ({ name: file.name, content: await file.text() }))),
    acceptLoss: isLossAccepted(values),
  }
}

const UploadList = ({ change }: ChangeListsProps) => {
  const { said, run } = useWaiting(change)
  return (
    <details class="box">
      <summary>Upload a list</summary>
      <Form
        action="Upload list"
        clears
        submit={async (values) =>
          run(await bodyOf(values), 'Reading the list and building its index…', 'The list is in use.')
        }
      >
        <Field
          name="listId"
          label="Name of the list"
          hint="Lower-case letters, digits, dots, hyphens and underscores. A list of this name is replaced."
          required
          maxLength={64}
          autocomplete="off"
        />
        <Select name="format" label="Format" options={FORMAT_OPTIONS} value="opensanctions" />
        <Field
          name="files"
          type="file"
          label="Files"
          hint="One, or the three CSV files of OFAC; together at most 1 MiB."
          multiple
          required
        />
        <Choices
          name="checkTypes"
          label="Used for"
          hint="Without any: what the format or the entries say, or sanctions."
          options={CHECK_TYPES}
        />
        <Choices name="acceptLoss" label="Losses" options={ACCEPT_LOSS} />
        <p role="status">{said}</p>
      </Form>
    </details>
  )
}

export const ChangeLists = ({ change }: ChangeListsProps) => (
  <>
    <Reload change={change} />
    <UploadList change={change} />
  </>
)
