/** Wire shapes of the watch lists in the console. @module */
import Type, { type Static } from 'typebox'
import { DateTime, orNull } from '../../json/schemas.ts'
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
    'The check types that the list is used for. Default: sanctions; for OpenSanctions, according to the topics.',
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
    files: Type.Array(
      Type.Object(
        { name: Type.String(), sha256: Sha256, bytes: Type.Integer() },
        { title: 'WatchListFile', description: 'To compare with what the publisher states.' },
      ),
    ),
  },
  { title: 'WatchList' },
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
      description: 'Check types for which no list is loaded.',
    }),
    problem: orNull(Type.Object({ message: Type.String(), at: DateTime }, { title: 'WatchListProblem' }), {
      description: 'Why this server could not load AML_LISTS when it started.',
    }),
    lists: Type.Array(WatchList),
  },
  { title: 'WatchLists' },
)
export type WatchLists = Static<typeof WatchLists>
