/** Wire shapes of the watch lists in the console. @module */
import Type, { type Static } from 'typebox'
import { DateTime, dateTime, orNull } from '../../json/schemas.ts'
import { LIST_FORMATS, LIST_ID_PATTERN } from './lists/list-source.ts'
import { CheckTypeName, Sha256 } from './schemas.ts'

const MAX_FILES = 3
const MAX_FILE_NAME_CHARACTERS = 100

const ListId = Type.String({ pattern: LIST_ID_PATTERN })

const Format = Type.Enum([...LIST_FORMATS])
const CheckTypes = Type.Array(CheckTypeName, {
  minItems: 1,
  uniqueItems: true,
  description:
    'The check types that the list is used for. Default: sanctions; for opensanctions and senzing according to the topics, for csl according to the source.',
})
const Files = Type.Array(
  Type.Object(
    {
      name: Type.String({ minLength: 1, maxLength: MAX_FILE_NAME_CHARACTERS }),
      content: Type.String({ description: 'The content of the file, as text.' }),
    },
    { title: 'ListFileSent' },
  ),
  {
    minItems: 1,
    maxItems: MAX_FILES,
    description:
      'For OFAC the main file, alt.csv and add.csv; otherwise one file. The body can have at most 1 MiB.',
  },
)
const AcceptLoss = Type.Optional(
  Type.Boolean({
    description: 'Accepts a list that has less than half of its previous entries, or that was removed.',
  }),
)

export const ChangeLists = Type.Union(
  [
    Type.Object(
      { action: Type.Literal('reload'), acceptLoss: AcceptLoss },
      { title: 'ReloadLists', description: 'Reads AML_LISTS again.' },
    ),
    Type.Object(
      {
        action: Type.Literal('upload'),
        listId: ListId,
        format: Format,
        checkTypes: Type.Optional(CheckTypes),
        files: Files,
        acceptLoss: AcceptLoss,
      },
      { title: 'UploadList', description: 'Adds or replaces one list.' },
    ),
    Type.Object(
      { action: Type.Literal('remove'), listId: ListId },
      { title: 'RemoveList', description: 'Removes one list until the next reload.' },
    ),
  ],
  { title: 'ChangeLists' },
)
export type ChangeLists = Static<typeof ChangeLists>

const WatchList = Type.Object(
  {
    listId: Type.String(),
    format: Format,
    source: Type.Enum(['directory', 'console', 'sample']),
    checkTypes: Type.Array(CheckTypeName),
    entries: Type.Integer(),
    names: Type.Integer(),
    sha256: Sha256,
    publishedAt: orNull(DateTime, { description: 'When the publisher made it, if its file says so.' }),
    loadedAt: dateTime('When these entries were first loaded.'),
    files: Type.Array(
      Type.Object(
        { name: Type.String(), sha256: Sha256, bytes: Type.Integer() },
        { title: 'WatchListFile', description: 'To compare with what the publisher states.' },
      ),
    ),
  },
  { title: 'WatchList' },
)

const FailedWatchList = Type.Object(
  {
    listId: Type.String({
      description: 'Its place, such as `lists[0]`, if `lists.json` gives it no valid id.',
    }),
    checkTypes: Type.Array(CheckTypeName, { description: 'What the list is configured for, or may be.' }),
    file: Type.String(),
    line: orNull(Type.Integer({ minimum: 1 })),
    message: Type.String({ description: 'Names the file and line.' }),
    since: DateTime,
    earlierEntries: Type.Boolean({
      description:
        'Whether entries from before are still used. If not, its check types return 503 until the list is loaded.',
    }),
  },
  { title: 'FailedWatchList' },
)

export const WatchLists = Type.Object(
  {
    listVersion: Type.String(),
    sha256: Sha256,
    loadedAt: orNull(DateTime),
    sample: Type.Boolean({
      description: 'Whether the shipped sample list, which has fictional people, is loaded.',
    }),
    uncovered: Type.Array(CheckTypeName, {
      description: 'Check types that return 503: no list is loaded for them, or a configured one never was.',
    }),
    problem: orNull(Type.Object({ message: Type.String(), at: DateTime }, { title: 'WatchListProblem' }), {
      description:
        'Why this server could not tell which lists AML_LISTS holds. Those that were loaded before stay in use; if there are none, it is one of the `problems` too and all check types return 503.',
    }),
    problems: Type.Array(FailedWatchList, {
      description:
        'What could not be loaded as its files are now. Lists that were loaded before stay as they were.',
    }),
    lists: Type.Array(WatchList),
  },
  { title: 'WatchLists' },
)
export type WatchLists = Static<typeof WatchLists>
